/** How fast an index grows, said only when three polls in a row agree. Pure. */
export interface Seen {
  readonly at: number;
  readonly done: number;
}
export interface Rate {
  readonly perSecond: number;
  readonly seconds: number;
}
const POLLS = 3;
const AGREE = 1.5;

export function rateOf(seen: readonly Seen[], all: number): Rate | null {
  const last = seen.slice(-POLLS - 1);
  if (last.length <= POLLS) return null;
  const rates = last.slice(1).map((one, at) => (one.done - last[at]!.done) / ((one.at - last[at]!.at) / 1000));
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  if (!(least > 0) || most > least * AGREE) return null;
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return { perSecond: Math.round(mean), seconds: Math.ceil((all - last.at(-1)!.done) / mean) };
}
