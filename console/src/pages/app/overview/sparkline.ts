/** Values as the points of a line in a box, from the left to the right, the highest at the top. */
export function sparkline(values: readonly number[], box: { width: number; height: number }): string {
  const most = Math.max(...values, 1);
  const step = values.length > 1 ? box.width / (values.length - 1) : 0;
  return values
    .map((value, at) => `${round(at * step)},${round(box.height - (value / most) * box.height)}`)
    .join(' ');
}

const round = (value: number) => Math.round(value * 10) / 10;
