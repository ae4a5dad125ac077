import { Group, Stack, Text } from '@mantine/core';
import { getAppMetrics } from '@svc/contract/app-metrics.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { errorPercent, formatCount, formatMs, formatPercent } from '../metrics/figures.ts';
import { useApp } from '../use-app.ts';
import { Card } from './card.tsx';
import { sparkline } from './sparkline.ts';

const box = { width: 300, height: 56 };

/** How much the app was used today. */
export function RequestsCard() {
  const { app, tenant, params } = useApp();
  const answer = useAnswer(getAppMetrics, { params, query: { range: '24h' } }, { everyMs: 60_000 });
  return (
    <Card
      title="Requests, 24 hours"
      more={
        <LinkTo to={consolePaths.app(tenant.slug, app.slug, 'metrics')} size="sm">
          All metrics
        </LinkTo>
      }
    >
      <AnswerView answer={answer} lines={2}>
        {({ total, points }) => {
          const errors = errorPercent(total);
          return (
            <Stack gap="xs">
              <Group gap="md" align="baseline">
                <Text fz={28} fw={700} lh={1.1}>
                  {formatCount(total.requests)}
                </Text>
                {errors !== null && <Text size="sm">{formatPercent(errors)} errors</Text>}
                {total.p95_ms !== null && <Text size="sm">p95 {formatMs(total.p95_ms)}</Text>}
              </Group>
              <svg
                viewBox={`0 -2 ${box.width} ${box.height + 4}`}
                width="100%"
                height={box.height}
                preserveAspectRatio="none"
                role="img"
                aria-label={`${formatCount(total.requests)} requests in the last 24 hours`}
              >
                <polyline
                  points={sparkline(
                    points.map(({ requests }) => requests),
                    box,
                  )}
                  fill="none"
                  stroke="var(--mantine-primary-color-filled)"
                  strokeWidth={2}
                  vectorEffect="non-scaling-stroke"
                />
              </svg>
            </Stack>
          );
        }}
      </AnswerView>
    </Card>
  );
}
