/**
 * The API counts code points, JavaScript UTF-16 units. Everything that crosses goes through here.
 * Pure; a lookup is a binary search in the places of the characters that take two units.
 */
export class CodePoints {
  /** Code points before each character of two units, in order. */
  private readonly wide: number[] = [];
  readonly length: number;

  constructor(readonly text: string) {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit < 0xd800 || unit > 0xdbff) continue;
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        this.wide.push(at - this.wide.length);
        at += 1;
      }
    }
    this.length = text.length - this.wide.length;
  }

  /** UTF-16 units before a code point. */
  toUnits(codePoint: number): number {
    const at = Math.max(0, Math.min(codePoint, this.length));
    return at + below(this.wide, at);
  }

  /** Code points before a UTF-16 unit; inside a character, those before it. */
  fromUnits(unit: number): number {
    let low = 0;
    let high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // The wide character number `middle` begins at unit wide[middle] + middle.
      if (this.wide[middle]! + middle + 1 <= unit) low = middle + 1;
      else high = middle;
    }
    const before = low;
    const inside = before > 0 && this.wide[before - 1]! + before - 1 + 1 === unit;
    return Math.max(0, Math.min(this.length, inside ? this.wide[before - 1]! : unit - before));
  }

  slice(start: number, end: number): string {
    return this.text.slice(this.toUnits(start), this.toUnits(end));
  }
}

/** How many of sorted numbers are less than a limit. */
function below(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
