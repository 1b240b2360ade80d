/** Signals, and that a view which has read one is rendered again when it changes.
 *
 * Every view runs inside an effect: its first run is the rendering, any other asks for the next. */
import { effect, signal, type Signal } from "@preact/signals-core";
import { Component, type ComponentChildren, Fragment, type FunctionComponent, options } from "preact";
import { useMemo } from "preact/hooks";

export { batch, computed, effect, type Signal, signal } from "@preact/signals-core";

type View = FunctionComponent<object>;
const watching = new WeakMap<View, View>();

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

    override render(props: object): ComponentChildren {
      this.stop?.();
      let made: ComponentChildren;
      let first = true;
      this.stop = effect(() => {
        if (first) made = view(props);
        else this.setState({});
        first = false;
      });
      return made;
    }

    override componentWillUnmount(): void {
      this.stop?.();
    }
  }
  return Watched as unknown as View;
}

/** A signal of a view, as long as it is there. */
export const useSignal = <T>(value: T): Signal<T> => useMemo(() => signal(value), []);
