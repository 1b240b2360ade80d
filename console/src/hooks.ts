/** What a view follows, and what it keeps from one rendering to the next.
 *
 * Every view runs inside an effect: its first run is the rendering, any other asks for the next. */
import { effect } from "@preact/signals-core";
import { Component, type ComponentChildren, Fragment, type FunctionComponent, options } from "preact";

type Run = () => void | (() => void);
interface Kept {
  value?: unknown;
  deps?: readonly unknown[] | undefined;
  /** An effect that is still to run, and what undoes the one before, where that is a function. */
  run?: Run | undefined;
  undo?: unknown;
}
type View = FunctionComponent<object>;
const watching = new WeakMap<View, View>();
let keeping: Kept[] = [];
let next = 0;

options.vnode = (vnode) => {
  if (typeof vnode.type !== "function" || vnode.type === Fragment) return;
  const view = vnode.type as View;
  const made = watching.get(view) ?? watched(view);
  // Who renders again passes what was made before.
  watching.set(view, made).set(made, made);
  vnode.type = made;
};

function watched(view: View): View {
  class Watched extends Component {
    stop?: () => void;
    kept: Kept[] = [];

    override render(props: object): ComponentChildren {
      this.stop?.();
      this.settle();
      let made: ComponentChildren;
      let first = true;
      this.stop = effect(() => {
        if (first) {
          keeping = this.kept;
          next = 0;
          made = view(props);
        } else this.setState({});
        first = false;
      });
      return made;
    }

    override componentDidMount(): void {
      this.componentDidUpdate();
    }

    /** Effects wait until the page is painted, or the view is rendered again. */
    override componentDidUpdate(): void {
      if (this.kept.some((one) => one.run)) setTimeout(() => this.settle());
    }

    override componentWillUnmount(): void {
      this.stop?.();
      this.kept.forEach(undo);
      this.kept = [];
    }

    settle(): void {
      const due = this.kept.filter((one) => one.run);
      due.forEach(undo);
      for (const one of due) {
        const run = one.run!;
        one.run = undefined;
        one.undo = run();
      }
    }
  }
  return Watched as unknown as View;
}

function undo(one: Kept): void {
  if (typeof one.undo === "function") one.undo();
  one.undo = undefined;
}

/** Does something with what a view keeps whenever one of `deps` is another one, or there are none. */
function whenever(deps: readonly unknown[] | undefined, act: (kept: Kept) => void): Kept {
  const kept = (keeping[next++] ??= {});
  if (!deps || !kept.deps || deps.some((one, at) => !Object.is(one, kept.deps![at]))) act(kept);
  kept.deps = deps;
  return kept;
}

/** What `make` made, until one of `deps` is another one. */
export const useMemo = <T>(make: () => T, deps: readonly unknown[]): T => whenever(deps, (kept) => (kept.value = make())).value as T;

/** Runs after the rendering whenever one of `deps` is another one; what it answers undoes it. */
export function useEffect(run: Run, deps?: readonly unknown[]): void {
  whenever(deps, (kept) => (kept.run = run));
}

/** A `ref` that scrolls to its element once it is there. */
export const intoView = (element?: Element | null): void => element?.scrollIntoView({ block: "nearest" });

/** A place of a view that changes without a rendering: an element, or what was there last. */
export function useRef<T>(current: T): { current: T };
export function useRef<T>(current: T | null): { current: T | null };
export function useRef<T>(current: T): { current: T } {
  return useMemo(() => ({ current }), []);
}
