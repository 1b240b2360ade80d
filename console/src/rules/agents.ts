/** What an agent reads, and what that takes of its context. Pure. */

/** From so many bound tools on, a model chooses better from one search over all of them. */
export const MOST_NAMED = 15;
/** More than this is a warning: it is read anew at every turn. */
export const MOST_TOKENS = 3000;

/** About how many tokens a text is: four letters each, and one for every character of other scripts. */
export function tokensOf(text: string): number {
  const others = text.match(/[^\u0000-\u024f]/gu)?.length ?? 0;
  return Math.ceil(([...text].length - others) / 4) + others;
}

/** What models are given of a tool; titles and annotations are for clients. */
export const asRead = ({ name, description, inputSchema }: { readonly name: string; readonly description?: string; readonly inputSchema: unknown }): string =>
  JSON.stringify({ name, description, inputSchema });

export interface Cited {
  readonly cite: string;
  /** What it is called where it is found. */
  readonly title: string;
}

/** All that an answer cites, each once, in order. `isConnector`: its ids are cites. */
export function citedIn(answer: unknown, isConnector = false): Cited[] {
  const found = new Map<string, string>();
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { title } = value as { title?: unknown };
    for (const [name, member] of Object.entries(value)) {
      const isCite = typeof member === "string" && (name === "cite" || (isConnector && name === "id"));
      if (isCite && !found.has(member)) found.set(member, typeof title === "string" ? title : "");
      look(member);
    }
  };
  look(answer);
  return [...found].map(([cite, title]) => ({ cite, title }));
}
