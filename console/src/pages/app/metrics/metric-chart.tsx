import { AreaChart, BarChart, LineChart } from '@mantine/charts';
import { VisuallyHidden } from '@mantine/core';
import type { Chart, ChartRow } from './figures.ts';

/** For the eye alone; who does not see it is told where the figures stand. */
export function MetricChart({ chart, rows }: { chart: Chart; rows: readonly ChartRow[] }) {
  const data = rows.map(({ label, values }) => ({
    label,
    ...Object.fromEntries(chart.series.map(({ name }, at) => [name, values[at] ?? null])),
  }));
  const shared = {
    h: 260,
    data,
    dataKey: 'label',
    valueFormatter: chart.format,
    withLegend: chart.series.length > 1,
    gridAxis: 'x' as const,
    accessibilityLayer: false,
    xAxisProps: { minTickGap: 32, interval: 'preserveStartEnd' as const },
    yAxisProps: {
      width: 72,
      domain: [0, 'auto'] as [number, 'auto'],
      // Half a request is none.
      allowDecimals: chart.kind !== 'bars',
    },
    // What is drawn anew every ten seconds must not dance each time.
    tooltipAnimationDuration: 0,
  };
  const lines = chart.series.map(({ name, color, dash }) => ({
    name,
    color,
    ...(dash && { strokeDasharray: dash }),
  }));
  return (
    <>
      <VisuallyHidden>A chart. “{chart.title} as table” shows its figures.</VisuallyHidden>
      <div aria-hidden>
        {chart.kind === 'bars' && (
          <BarChart {...shared} type="stacked" series={lines} barProps={{ isAnimationActive: false }} />
        )}
        {chart.kind === 'lines' && (
          <LineChart
            {...shared}
            series={lines}
            withDots={false}
            connectNulls={false}
            curveType="linear"
            lineProps={{ isAnimationActive: false }}
          />
        )}
        {chart.kind === 'area' && (
          <AreaChart
            {...shared}
            series={lines}
            withDots={false}
            connectNulls={false}
            curveType="linear"
            areaProps={{ isAnimationActive: false }}
          />
        )}
      </div>
    </>
  );
}
