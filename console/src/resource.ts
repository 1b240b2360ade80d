/** What a view reads: its last content, the problem, whether it is asked for again. */
import { Problem } from "./api";
import { useEffect, useMemo } from "./hooks";
import { type Signal, signal } from "./signals";

export interface Resource<T> {
  readonly data: Signal<T | null>;
  readonly problem: Signal<Problem | null>;
  readonly loading: Signal<boolean>;
  /** Asks again; what is shown stays until the answer is there. */
  readonly reload: () => void;
  readonly stop: () => void;
}

/** Reads by `ask` whenever `key` is another one; nothing is asked while it is null. A late answer
 * of an older question is ignored, and its request is stopped. */
export function useResource<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const state = useMemo(() => {
    const data = signal<T | null>(null);
    const problem = signal<Problem | null>(null);
    const loading = signal(false);
    let running: AbortController | null = null;
    let latest = ask;
    const stop = (): void => {
      running?.abort();
      running = null;
      loading.value = false;
    };
    const reload = (): void => {
      running?.abort();
      const mine = new AbortController();
      running = mine;
      loading.value = true;
      latest(mine.signal)
        .then((answer) => {
          if (running !== mine) return;
          data.value = answer;
          problem.value = null;
        })
        .catch((error: unknown) => {
          if (running !== mine) return;
          if (error instanceof Problem) problem.value = error;
          else if (!(error instanceof DOMException)) throw error;
        })
        .finally(() => {
          if (running === mine) stop();
        });
    };
    return { data, problem, loading, reload, stop, use: (next: typeof ask) => (latest = next) };
  }, []);
  state.use(ask);
  useEffect(() => {
    if (key === null) {
      state.stop();
      state.data.value = null;
      state.problem.value = null;
    } else {
      state.reload();
    }
  }, [key]);
  useEffect(() => state.stop, []);
  return state;
}

/** Asks again every so many milliseconds while the tab is seen; `null` waits. */
export function usePolling(reload: () => void, everyMs: number | null): void {
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
