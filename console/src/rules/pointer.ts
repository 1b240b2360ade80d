/** JSON pointers (RFC 6901). Pure. */
export const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");
export const unescaped = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~");
export const child = (pointer: string, key: string | number): string => `${pointer}/${escaped(String(key))}`;
export const parent = (pointer: string): string => pointer.slice(0, pointer.lastIndexOf("/"));
export const lastKey = (pointer: string): string => unescaped(pointer.slice(pointer.lastIndexOf("/") + 1));
/** Every place on the way, the root first. */
export function ancestors(pointer: string): string[] {
  const parts = pointer.split("/").slice(1);
  return ["", ...parts.map((_, at) => `/${parts.slice(0, at + 1).join("/")}`)];
}
export const isPointer = (text: string): boolean => text === "" || /^(\/([^~]|~[01])*)+$/.test(text);
