/** What JSX becomes: `h(tag, props, ...children)`, shorter than the automatic runtime's calls. */
export { Fragment, h } from "preact";
