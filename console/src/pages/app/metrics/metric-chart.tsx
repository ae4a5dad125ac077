import { Group, Paper, Text, VisuallyHidden } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useState } from 'react';
import { BoldText } from '../../../components/text.tsx';
import { type ChartLayout, layoutChart } from './chart-layout.ts';
import type { Chart, ChartRow } from './figures.ts';

const height = 232;

/**
 * Hidden from screen readers, which are pointed to the table. A chart library would weigh more than the rest of the
 * page.
 */
export function MetricChart({ chart, rows }: { chart: Chart; rows: readonly ChartRow[] }) {
  const { ref, width } = useElementSize();
  const [pointed, setPointed] = useState<number | null>(null);
  const drawing = layoutChart({ chart, rows, width, height });
  const row = pointed === null ? undefined : rows[pointed];
  return (
    <>
      <VisuallyHidden>Chart. “{chart.title} as table” shows the values.</VisuallyHidden>
      <div aria-hidden>
        <div
          ref={ref}
          style={{ position: 'relative', height }}
          onPointerMove={(event) => {
            const { left } = event.currentTarget.getBoundingClientRect();
            setPointed(drawing.rowAt(event.clientX - left));
          }}
          onPointerLeave={() => setPointed(null)}
        >
          {width > 0 && <Plot chart={chart} drawing={drawing} width={width} pointed={row && pointed} />}
          {row && pointed !== null && (
            <HoverFigures
              chart={chart}
              row={row}
              x={drawing.xOf(pointed)}
              isRight={drawing.xOf(pointed) > width / 2}
            />
          )}
        </div>
        {chart.series.length > 1 && (
          <Group gap="md" justify="center" mt="xs">
            {chart.series.map((one) => (
              <Group key={one.name} gap={6} wrap="nowrap">
                <SeriesMark color={one.color} />
                <Text size="sm">{one.name}</Text>
              </Group>
            ))}
          </Group>
        )}
      </div>
    </>
  );
}

function Plot({
  chart,
  drawing,
  width,
  pointed,
}: {
  chart: Chart;
  drawing: ChartLayout;
  width: number;
  pointed: number | null | undefined;
}) {
  const { plot, ticks, labels, bars, lines, xOf } = drawing;
  const text = { fontSize: 12, fill: 'var(--mantine-color-dimmed)' };
  const rule = { stroke: 'var(--mantine-color-default-border)' };
  return (
    <svg width={width} height={height} style={{ display: 'block' }} role="presentation">
      {ticks.map(({ value, y }) => (
        <g key={value}>
          <line x1={plot.left} x2={plot.right} y1={y} y2={y} {...rule} strokeDasharray="4 4" />
          <text x={plot.left - 8} y={y} dy="0.32em" textAnchor="end" {...text}>
            {chart.format(value)}
          </text>
        </g>
      ))}
      {labels.map(({ label, x }) => (
        <text key={`${label} ${x}`} x={x} y={plot.bottom + 18} textAnchor="middle" {...text}>
          {label}
        </text>
      ))}
      {pointed !== null && pointed !== undefined && (
        <line x1={xOf(pointed)} x2={xOf(pointed)} y1={plot.top} y2={plot.bottom} {...rule} />
      )}
      {bars.map(({ key, color, ...box }) => (
        <rect key={key} {...box} fill={cssColor(color)} />
      ))}
      {lines.map(({ name, color, dash, path, area }) => (
        <g key={name}>
          {area !== null && <path d={area} fill={cssColor(color)} fillOpacity={0.2} />}
          <path d={path} fill="none" stroke={cssColor(color)} strokeWidth={2} strokeDasharray={dash} />
        </g>
      ))}
    </svg>
  );
}

function HoverFigures({
  chart,
  row,
  x,
  isRight,
}: {
  chart: Chart;
  row: ChartRow;
  x: number;
  isRight: boolean;
}) {
  const side = isRight ? { right: `calc(100% - ${x - 12}px)` } : { left: x + 12 };
  return (
    <Paper
      withBorder
      shadow="sm"
      p="xs"
      style={{ position: 'absolute', top: 8, pointerEvents: 'none', ...side }}
    >
      <BoldText>{row.label}</BoldText>
      {chart.series.map((one, at) => {
        const value = row.values[at] ?? null;
        return (
          <Group key={one.name} gap={6} wrap="nowrap">
            <SeriesMark color={one.color} />
            <Text size="sm" style={{ flex: 1 }}>
              {one.name}
            </Text>
            <Text size="sm">{value === null ? '–' : chart.format(value)}</Text>
          </Group>
        );
      })}
    </Paper>
  );
}

function SeriesMark({ color }: { color: string }) {
  return (
    <span style={{ width: 10, height: 10, borderRadius: 5, flex: 'none', background: cssColor(color) }} />
  );
}

const cssColor = (color: string) => `var(--mantine-color-${color.replace('.', '-')})`;
