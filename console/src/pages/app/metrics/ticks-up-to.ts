const stepsMax = 4;

/** From 0 to what is at least the greatest value, in even steps that read well: 1, 2 or 5 of a power of ten. */
export function ticksUpTo(max: number, of: 'counts' | 'figures'): number[] {
  const top = max > 0 ? max : 1;
  const step = wellRead(top / stepsMax, of);
  const count = Math.ceil(top / step);
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

function wellRead(least: number, of: 'counts' | 'figures'): number {
  // Half a request is none.
  if (of === 'counts' && least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((times) => times * power >= least) ?? 10) * power;
}
