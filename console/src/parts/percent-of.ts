/** How much of the whole it is, from 0 to 100: a plain number, since screen readers are told it. */
export function percentOf(part: number, whole: number): number {
  return whole <= 0 ? 100 : Math.min(100, Math.round((1_000 * part) / whole) / 10);
}
