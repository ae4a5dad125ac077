import { Anchor, Group, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { reasonText, sourceText } from '../deployments/deployment-texts.ts';
import { useApp } from '../use-app.ts';
import { usePersonNames } from '../use-person-names.ts';
import { whyNotVisit } from '../why-not-visit.ts';
import { Card } from './card.tsx';
import { LiveRelease } from './live-release.tsx';

/** What visitors see, and where. */
export function LiveCard() {
  const { app, tenant, params } = useApp();
  const nameOf = usePersonNames();
  const answer = useAnswer(
    listDeployments,
    { params, query: { state: 'live', per_page: 1 } },
    { everyMs: 15_000 },
  );
  return (
    <Card title="Live">
      <AnswerView answer={answer} lines={2}>
        {({ items: [live] }) => {
          if (live === undefined) return <LiveRelease />;
          return (
            <Stack gap={4}>
              <Group gap="xs">
                <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, live.id)} fw={600}>
                  Deployment #{live.seq}
                </LinkTo>
                <Text span className="mono" size="sm">
                  {sourceText(live)}
                </Text>
              </Group>
              {live.commit_message && <Text lineClamp={2}>{live.commit_message}</Text>}
              <Text size="sm" c="dimmed" component="div">
                {nameOf(live.created_by) ?? reasonText(live)}, live since <TimeText value={live.live_at} />
              </Text>
              {app.url && app.runtime === 'running' && whyNotVisit(app) === null && (
                <Anchor
                  href={app.url}
                  target="_blank"
                  rel="noreferrer"
                  size="sm"
                  style={{ overflowWrap: 'anywhere' }}
                >
                  {app.url}
                </Anchor>
              )}
            </Stack>
          );
        }}
      </AnswerView>
    </Card>
  );
}
