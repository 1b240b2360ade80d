/** How often a view asks again: 2 s while something moves, then 5, 15 and 60; never while hidden. */
import { useEffect, useRef } from "./hooks";

const BUSY_MS = 2000;
const QUIET_MS = [5000, 15_000, 60_000] as const;

export function usePace(reload: () => void, moving: boolean): void {
  const quiet = useRef(0);
  useEffect(() => {
    quiet.current = 0;
    let timer: ReturnType<typeof setTimeout>;
    const wait = (): void => {
      timer = setTimeout(tick, moving ? BUSY_MS : QUIET_MS[Math.min(quiet.current++, QUIET_MS.length - 1)]);
    };
    const tick = (): void => {
      if (document.hidden) return;
      reload();
      wait();
    };
    const seen = (): void => {
      clearTimeout(timer);
      quiet.current = 0;
      tick();
    };
    wait();
    document.addEventListener("visibilitychange", seen);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [moving]);
}
