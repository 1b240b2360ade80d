/** What a file of src/pages exports as `page`; the build finds it by itself. */
import type { ComponentType } from "preact";
import type { Scope } from "./session";

export interface Page {
  /** First part of the address: `search` is `#/search`. */
  readonly id: string;
  /** Place in the navigation; none without one. */
  readonly order?: number;
  /** A key with any of these sees the page; everybody does without. */
  readonly scopes?: readonly Scope[];
  /** Says itself how far an upload is. */
  readonly uploads?: true;
  /** In the language of the page; read while rendering. */
  readonly title: () => string;
  readonly View: ComponentType;
}
