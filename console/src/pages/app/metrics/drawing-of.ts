import type { Chart, ChartRow } from './figures.ts';
import { ticksUpTo } from './ticks-up-to.ts';

/** Of what stands below: about so wide a letter is, and so much is left between two. */
const [letterWidth, labelGap] = [7, 24];
const margin = { left: 72, right: 12, top: 8, bottom: 28 };

export interface Drawing {
  plot: { left: number; right: number; top: number; bottom: number };
  ticks: { value: number; y: number }[];
  bars: { key: string; color: string; x: number; y: number; width: number; height: number }[];
  lines: { name: string; color: string; dash: string | undefined; path: string; area: string | null }[];
  /** As many as stand beside one another. */
  labels: { label: string; x: number }[];
  xOf(row: number): number;
  /** The row nearest to a place; null where there is none. */
  rowAt(x: number): number | null;
}

/** Where everything of a chart stands, in pixels. Rows are as far apart as their times: evenly. */
export function drawingOf({
  chart,
  rows,
  width,
  height,
}: {
  chart: Chart;
  rows: readonly ChartRow[];
  width: number;
  height: number;
}): Drawing {
  const plot = {
    left: margin.left,
    right: Math.max(margin.left + 1, width - margin.right),
    top: margin.top,
    bottom: height - margin.bottom,
  };
  const isStacked = chart.kind === 'bars';
  const highest = rows.map(({ values }) => {
    const known = values.map((value) => value ?? 0);
    return isStacked ? known.reduce((sum, value) => sum + value, 0) : Math.max(...known);
  });
  const values = ticksUpTo(Math.max(0, ...highest), chart.scale);
  const top = values.at(-1) ?? 1;
  const yOf = (value: number) => plot.bottom - (value / top) * (plot.bottom - plot.top);
  const step = (plot.right - plot.left) / Math.max(1, rows.length);
  const xOf = (row: number) => plot.left + step * (row + 0.5);
  const letters = Math.max(1, ...rows.map(({ label }) => label.length));
  const labelEvery = Math.max(1, Math.ceil((letters * letterWidth + labelGap) / step));
  return {
    plot,
    xOf,
    ticks: values.map((value) => ({ value, y: yOf(value) })),
    bars: isStacked ? rows.flatMap(({ values: parts }, at) => stacked(parts, at)) : [],
    lines: isStacked ? [] : chart.series.map((one, at) => ({ ...described(one), ...lineOf(at) })),
    rowAt: (x) =>
      rows.length === 0 || x < plot.left || x > plot.right
        ? null
        : Math.min(rows.length - 1, Math.floor((x - plot.left) / step)),
    labels: rows.flatMap(({ label }, at) => (at % labelEvery === 0 ? [{ label, x: xOf(at) }] : [])),
  };

  function stacked(parts: readonly (number | null)[], at: number): Drawing['bars'] {
    const wide = Math.max(1, step * 0.8);
    let below = 0;
    return chart.series.flatMap(({ name, color }, place) => {
      const value = parts[place] ?? 0;
      if (value === 0) return [];
      const [from, to] = [yOf(below), yOf(below + value)];
      below += value;
      return [{ key: `${at} ${name}`, color, x: xOf(at) - wide / 2, y: to, width: wide, height: from - to }];
    });
  }

  /** Broken where nothing is known; a point by itself is a short stroke, or nobody would see it. */
  function lineOf(place: number): { path: string; area: string | null } {
    const runs: [number, number][][] = [];
    let run: [number, number][] = [];
    for (const [at, { values: parts }] of rows.entries()) {
      const value = parts[place] ?? null;
      if (value === null) {
        run = [];
        continue;
      }
      if (run.length === 0) runs.push(run);
      run.push([xOf(at), yOf(value)]);
    }
    const drawn = runs.map((points) => (points.length === 1 ? points.flatMap(stroke) : points));
    const path = drawn.map((points) => `M${points.map(inPath).join('L')}`).join('');
    const closed = drawn.map((points) => {
      const [first, last] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
      return `M${inPath([first, plot.bottom])}L${points.map(inPath).join('L')}L${inPath([last, plot.bottom])}Z`;
    });
    return { path, area: chart.kind === 'area' ? closed.join('') : null };
  }
}

const stroke = ([x, y]: [number, number]): [number, number][] => [
  [x - 2, y],
  [x + 2, y],
];
const described = ({ name, color, dash }: Chart['series'][number]) => ({ name, color, dash });
const inPath = ([x, y]: readonly [number, number]) => `${x.toFixed(1)},${y.toFixed(1)}`;
