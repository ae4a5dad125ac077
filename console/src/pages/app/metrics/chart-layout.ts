import type { Chart, ChartRow } from './figures.ts';

const [letterWidth, labelGap] = [7, 24];
const margin = { left: 72, right: 12, top: 8, bottom: 28 };

export interface ChartLayout {
  plot: { left: number; right: number; top: number; bottom: number };
  ticks: { value: number; y: number }[];
  bars: { key: string; color: string; x: number; y: number; width: number; height: number }[];
  lines: { name: string; color: string; dash: string | undefined; path: string; area: string | null }[];
  labels: { label: string; x: number }[];
  xOf(row: number): number;
  rowAt(x: number): number | null;
}

export function layoutChart({
  chart,
  rows,
  width,
  height,
}: {
  chart: Chart;
  rows: readonly ChartRow[];
  width: number;
  height: number;
}): ChartLayout {
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
  const values = axisTicks(Math.max(0, ...highest), chart.scale);
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
    lines: isStacked ? [] : chart.series.map((one, at) => ({ ...seriesStyle(one), ...lineOf(at) })),
    rowAt: (x) =>
      rows.length === 0 || x < plot.left || x > plot.right
        ? null
        : Math.min(rows.length - 1, Math.floor((x - plot.left) / step)),
    labels: rows.flatMap(({ label }, at) => (at % labelEvery === 0 ? [{ label, x: xOf(at) }] : [])),
  };

  function stacked(parts: readonly (number | null)[], at: number): ChartLayout['bars'] {
    const wide = Math.max(1, step * 0.8);
    let below = 0;
    return chart.series.flatMap(({ name, color }, position) => {
      const value = parts[position] ?? 0;
      if (value === 0) return [];
      const [from, to] = [yOf(below), yOf(below + value)];
      below += value;
      return [{ key: `${at} ${name}`, color, x: xOf(at) - wide / 2, y: to, width: wide, height: from - to }];
    });
  }

  function lineOf(position: number): { path: string; area: string | null } {
    const runs: [number, number][][] = [];
    let run: [number, number][] = [];
    for (const [at, { values: parts }] of rows.entries()) {
      const value = parts[position] ?? null;
      if (value === null) {
        run = [];
        continue;
      }
      if (run.length === 0) runs.push(run);
      run.push([xOf(at), yOf(value)]);
    }
    const drawn = runs.map((points) => (points.length === 1 ? points.flatMap(shortStroke) : points));
    const path = drawn.map((points) => `M${points.map(pathPoint).join('L')}`).join('');
    const closed = drawn.map((points) => {
      const [first, last] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
      return `M${pathPoint([first, plot.bottom])}L${points.map(pathPoint).join('L')}L${pathPoint([last, plot.bottom])}Z`;
    });
    return { path, area: chart.kind === 'area' ? closed.join('') : null };
  }
}

const shortStroke = ([x, y]: [number, number]): [number, number][] => [
  [x - 2, y],
  [x + 2, y],
];
const seriesStyle = ({ name, color, dash }: Chart['series'][number]) => ({ name, color, dash });
const pathPoint = ([x, y]: readonly [number, number]) => `${x.toFixed(1)},${y.toFixed(1)}`;

const stepsMax = 4;

export function axisTicks(max: number, of: 'counts' | 'figures'): number[] {
  const top = max > 0 ? max : 1;
  const step = roundStep(top / stepsMax, of);
  const count = Math.ceil(top / step);
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)));
}

function roundStep(least: number, of: 'counts' | 'figures'): number {
  if (of === 'counts' && least <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((times) => times * power >= least) ?? 10) * power;
}

export function sparkline(values: readonly number[], box: { width: number; height: number }): string {
  const most = Math.max(...values, 1);
  const step = values.length > 1 ? box.width / (values.length - 1) : 0;
  return values
    .map((value, at) => `${round(at * step)},${round(box.height - (value / most) * box.height)}`)
    .join(' ');
}

const round = (value: number) => Math.round(value * 10) / 10;
