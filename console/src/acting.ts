/** Something that a button does: whether it is under way, and why it was refused. */
import { announce } from "./announce";
import { Problem } from "./api";
import { useMemo } from "./hooks";
import { type Signal, signal } from "./signals";

export interface Acting {
  readonly busy: Signal<boolean>;
  readonly problem: Signal<Problem | null>;
  /** Answers what `act` does, or null when it was refused; `done` is said when it was not. */
  readonly run: <T>(act: () => Promise<T>, done?: string) => Promise<T | null>;
}

export function newActing(): Acting {
  const busy = signal(false);
  const problem = signal<Problem | null>(null);
  const run = async <T>(act: () => Promise<T>, done?: string): Promise<T | null> => {
    busy.value = true;
    problem.value = null;
    try {
      const answer = await act();
      if (done) announce(done);
      return answer;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
      return null;
    } finally {
      busy.value = false;
    }
  };
  return { busy, problem, run };
}

/** One of a view, as long as it is there. */
export const useActing = (): Acting => useMemo(newActing, []);
