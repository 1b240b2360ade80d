/** How the whole is, on every page: read now and then while the tab is seen. */
import { get, Problem, type Schema } from "./api";
import { session } from "./session";
import { effect, signal } from "./signals";

export type Health = Schema<"ProjectHealthAnswer">;
type Verdict = Health["verdict"];
const FIRST_MS = 2000;
const EVERY_MS = 30_000;

/** Null until it is known. */
export const verdict = signal<Verdict | null>(null);

export async function readHealth(abort?: AbortSignal): Promise<Health> {
  try {
    const read = await get<Health>(`/api/v1/projects/${session.peek()?.projectId}/health`, abort ? { signal: abort } : {});
    verdict.value = read.verdict;
    return read;
  } catch (error) {
    if (error instanceof Problem) verdict.value = "failing";
    throw error;
  }
}

// A page that opens is asked first; who is signed out asks nothing.
effect(() => {
  if (!session.value) {
    verdict.value = null;
    return;
  }
  const read = (): void => {
    if (!document.hidden) readHealth().catch(() => undefined);
  };
  const [first, timer] = [setTimeout(read, FIRST_MS), setInterval(read, EVERY_MS)];
  return () => {
    clearTimeout(first);
    clearInterval(timer);
  };
});
