/** Characters of every string in a JSON value that is not blank, as the API counts them: code points. */
export function lengthsOf(value: unknown): number[] {
  const lengths: number[] = [];
  const left = [value];
  while (left.length) {
    const one = left.pop();
    if (typeof one === "string") {
      if (one.trim()) lengths.push(one.length - (one.match(/[\ud800-\udbff]/g)?.length ?? 0));
    } else if (one && typeof one === "object") for (const inner of Object.values(one)) left.push(inner);
  }
  return lengths;
}
