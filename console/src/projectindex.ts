/** The index of the whole project, or null while it is off. */
import { get, Problem, type Schema } from "./api";
import { session } from "./session";

export type ProjectIndex = Schema<"ProjectIndexAnswer">;
export const projectIndexPath = (): string => `/api/v1/projects/${session.value?.projectId}/search-index`;
/** Of which session it is known to be off: then nobody is asked for what would be a refusal. */
let offFor: string | null | undefined = null;

export function switched(on: boolean): void {
  offFor = on ? null : session.value?.key;
}

/** Whether it is on is read once; a view that begins forgets it by `switched(true)`. */
export async function projectIndex(signal: AbortSignal): Promise<ProjectIndex | null> {
  const key = session.value?.key;
  if (offFor === key) return null;
  try {
    const { features } = await get<Schema<"WhoAmIAnswer">>("/api/v1/whoami", { signal });
    if (features.project_search) return await get<ProjectIndex>(projectIndexPath(), { signal });
  } catch (error) {
    if (!(error instanceof Problem) || error.fields.code !== "PROJECT_INDEX_OFF") throw error;
  }
  offFor = key;
  return null;
}
