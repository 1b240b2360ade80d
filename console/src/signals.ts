/** Signals: a view which has read one is rendered again when it changes. */
import { type Signal, signal } from "@preact/signals-core";
import { useMemo } from "./hooks";

export { batch, computed, effect, type Signal, signal } from "@preact/signals-core";

/** A signal of a view, as long as it is there. */
export const useSignal = <T>(value: T): Signal<T> => useMemo(() => signal(value), []);
