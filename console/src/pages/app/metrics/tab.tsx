import { Box, Group, Paper, SegmentedControl, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import { useState } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { formatBytes } from '../../../components/format.ts';
import { EmptyState } from '../../../components/page-layout.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint, SmallButton, SubHeading } from '../../../components/text.tsx';
import { useUrlChoice, useUrlValue } from '../../../components/url-state.ts';
import { ProcessSelect } from '../logs/process-select.tsx';
import { AppUrl, restrictedTab, useApp } from '../use-app.tsx';
import {
  type AppMetrics,
  type Chart,
  type ChartRow,
  chartRows,
  charts,
  errorPercent,
  formatCount,
  formatMs,
  formatPercent,
  type MetricsRange,
} from './figures.ts';
import { MetricChart } from './metric-chart.tsx';

export default restrictedTab(getAppMetrics, 'the metrics', MetricsView);

const rangeLabels: Record<MetricsRange, string> = { '1h': '1 hour', '24h': '24 hours', '7d': '7 days' };
const rangeRefetchMs: Record<MetricsRange, number> = { '1h': 10_000, '24h': 60_000, '7d': 300_000 };

function MetricsView() {
  const { app, params } = useApp();
  const [range, setRange] = useUrlChoice<MetricsRange>('range', '1h', metricsRanges);
  const [process, setProcess] = useUrlValue('process');
  const answer = useEndpoint(
    getAppMetrics,
    { params, query: { range, process: process || undefined } },
    { refetchMs: rangeRefetchMs[range] },
  );
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Heading>The last {range === '1h' ? 'hour' : rangeLabels[range]}</Heading>
        <Group align="flex-end" gap="sm">
          <ProcessSelect value={process} onChange={setProcess} />
          <SegmentedControl
            aria-label="Time"
            value={range}
            onChange={(value) => setRange(value as MetricsRange)}
            data={metricsRanges.map((value) => ({ value, label: rangeLabels[value] }))}
          />
        </Group>
      </Group>
      <QueryView answer={answer} lines={10}>
        {(metrics) =>
          hasNoData(metrics) ? (
            <EmptyState
              title="No data yet"
              command={`svc metrics --app ${app.slug} --range ${range}`}
              action={<AppUrl app={app} />}
            >
              {app.deployment_status === 'deployed'
                ? 'No requests in this period. Open app; its first requests appear here within seconds.'
                : 'Once the app is deployed, its requests, latency, CPU time and memory appear here.'}
            </EmptyState>
          ) : (
            <>
              <MetricTotals total={metrics.total} />
              {metrics.total.requests === 0 && <Text c="dimmed">No requests in this period.</Text>}
              <MetricCharts metrics={metrics} />
            </>
          )
        }
      </QueryView>
    </Stack>
  );
}

function hasNoData({ total }: AppMetrics): boolean {
  return total.requests === 0 && total.cpu_ms === 0 && total.memory_bytes === 0;
}

function MetricTotals({ total }: { total: AppMetrics['total'] }) {
  const orNone = (value: number | null, format: (value: number) => string) =>
    value === null ? '–' : format(value);
  const figures: [string, string][] = [
    ['Requests', formatCount(total.requests)],
    ['Errors', orNone(errorPercent(total), formatPercent)],
    ['Latency p50', orNone(total.p50_ms, formatMs)],
    ['Latency p95', orNone(total.p95_ms, formatMs)],
    ['Latency p99', orNone(total.p99_ms, formatMs)],
    ['Sent', formatBytes(total.bytes_out)],
    ['CPU time', formatMs(total.cpu_ms)],
    ['Peak memory', total.memory_bytes === 0 ? '–' : formatBytes(total.memory_bytes)],
  ];
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 3, md: 4, xl: 8 }} spacing="sm" m={0}>
      {figures.map(([label, value]) => (
        <Paper key={label} withBorder p="sm" component="div">
          <Hint component="dt">{label}</Hint>
          <Text component="dd" m={0} fw={600} fz="lg">
            {value}
          </Text>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function MetricCharts({ metrics }: { metrics: AppMetrics }) {
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map((chart) => (
        <MetricCard key={chart.title} chart={chart} metrics={metrics} />
      ))}
    </SimpleGrid>
  );
}

function MetricCard({ chart, metrics }: { chart: Chart; metrics: AppMetrics }) {
  const [isTable, setTable] = useState(false);
  const rows = chartRows(chart, metrics);
  const hasPoints = rows.some(({ values }) => values.some((value) => value !== null));
  return (
    <Paper withBorder p="md" component="section" aria-label={chart.title} miw={0}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <div>
            <SubHeading>{chart.title}</SubHeading>
            <Hint>{chart.means}</Hint>
          </div>
          <SmallButton
            style={{ flex: 'none' }}
            onClick={() => setTable(!isTable)}
            aria-label={isTable ? `${chart.title} as chart` : `${chart.title} as table`}
          >
            {isTable ? 'As chart' : 'As table'}
          </SmallButton>
        </Group>
        {isTable && <MetricTable chart={chart} rows={rows} />}
        {!isTable && hasPoints && <MetricChart chart={chart} rows={rows} />}
        {!isTable && !hasPoints && <Text c="dimmed">No data in this period.</Text>}
      </Stack>
    </Paper>
  );
}

function MetricTable({ chart, rows }: { chart: Chart; rows: readonly ChartRow[] }) {
  return (
    <Box h={260} style={{ overflow: 'auto' }} tabIndex={0} role="region" aria-label={`${chart.title}, table`}>
      <Table stickyHeader verticalSpacing={4} aria-label={chart.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            {chart.series.map(({ name }) => (
              <Table.Th key={name} ta="right">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.toReversed().map(({ at, label, values }) => (
            <Table.Tr key={at}>
              <Table.Td>
                <time dateTime={at}>{label}</time>
              </Table.Td>
              {values.map((value, position) => (
                <Table.Td key={chart.series[position]?.name} ta="right">
                  {value === null ? '–' : chart.format(value)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}
