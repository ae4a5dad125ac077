import { Paper, SimpleGrid, Text } from '@mantine/core';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { type AppMetrics, errorPercent, formatCount, formatMs, formatPercent } from './figures.ts';

/** The whole time in a handful of figures. */
export function MetricTotals({ total }: { total: AppMetrics['total'] }) {
  const orNone = (value: number | null, format: (value: number) => string) =>
    value === null ? '–' : format(value);
  const figures: [string, string][] = [
    ['Requests', formatCount(total.requests)],
    ['Errors', orNone(errorPercent(total), formatPercent)],
    ['Latency p50', orNone(total.p50_ms, formatMs)],
    ['Latency p95', orNone(total.p95_ms, formatMs)],
    ['Latency p99', orNone(total.p99_ms, formatMs)],
    ['Sent', readableBytes(total.bytes_out)],
    ['CPU time', formatMs(total.cpu_ms)],
    ['Memory, at most', total.memory_bytes === 0 ? '–' : readableBytes(total.memory_bytes)],
  ];
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 3, md: 4, xl: 8 }} spacing="sm" m={0}>
      {figures.map(([label, value]) => (
        <Paper key={label} withBorder p="sm" component="div">
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <Text component="dd" m={0} fw={600} fz="lg">
            {value}
          </Text>
        </Paper>
      ))}
    </SimpleGrid>
  );
}
