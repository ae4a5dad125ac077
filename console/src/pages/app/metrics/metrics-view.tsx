import { Group, SegmentedControl, Stack, Text, Title } from '@mantine/core';
import { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { useQueryParam } from '../../../parts/use-query-param.ts';
import { AppAddress } from '../app-address.tsx';
import { useApp } from '../use-app.ts';
import type { AppMetrics, MetricsRange } from './figures.ts';
import { MetricCharts } from './metric-charts.tsx';
import { MetricTotals } from './metric-totals.tsx';

const labels: Record<MetricsRange, string> = { '1h': '1 hour', '24h': '24 hours', '7d': '7 days' };
const everyMs: Record<MetricsRange, number> = { '1h': 10_000, '24h': 60_000, '7d': 300_000 };

export function MetricsView() {
  const { app, params } = useApp();
  const [range, setRange] = useQueryParam<MetricsRange>('range', '1h', metricsRanges);
  const answer = useAnswer(getAppMetrics, { params, query: { range } }, { everyMs: everyMs[range] });
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Title order={2} size="h4">
          The last {range === '1h' ? 'hour' : labels[range]}
        </Title>
        <SegmentedControl
          aria-label="Time"
          value={range}
          onChange={(value) => setRange(value as MetricsRange)}
          data={metricsRanges.map((value) => ({ value, label: labels[value] }))}
        />
      </Group>
      <AnswerView answer={answer} lines={10}>
        {(metrics) =>
          isNothing(metrics) ? (
            <Empty
              title="Nothing to show yet"
              command={`svc metrics --app ${app.slug} --range ${range}`}
              action={<AppAddress app={app} />}
            >
              {app.deployment_status === 'deployed'
                ? 'Nobody has asked for anything in this time. Open the app, and the first requests appear here within some seconds.'
                : 'Once the app is deployed, its requests, how long they take, and the processor time and memory it uses appear here.'}
            </Empty>
          ) : (
            <>
              <MetricTotals total={metrics.total} />
              {metrics.total.requests === 0 && (
                <Text c="dimmed">Nobody has asked for anything in this time.</Text>
              )}
              <MetricCharts metrics={metrics} />
            </>
          )
        }
      </AnswerView>
    </Stack>
  );
}

function isNothing({ total }: AppMetrics): boolean {
  return total.requests === 0 && total.cpu_ms === 0 && total.memory_bytes === 0;
}
