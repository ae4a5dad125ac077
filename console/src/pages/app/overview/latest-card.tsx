import { Group, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { sourceText } from '../deployments/deployment-texts.ts';
import { useDeployments } from '../deployments/use-deployments.ts';
import { useApp } from '../use-app.ts';
import { Card } from './card.tsx';

const shown = 5;

/** The last deployments, as they go on. */
export function LatestCard() {
  const { app, tenant } = useApp();
  const answer = useDeployments({ per_page: shown });
  if (answer.data?.total === 0) return null;
  return (
    <Card
      title="Last deployments"
      more={
        <LinkTo to={consolePaths.app(tenant.slug, app.slug, 'deployments')} size="sm">
          All deployments
        </LinkTo>
      }
    >
      <AnswerView answer={answer} lines={3}>
        {({ items }) => (
          <Stack gap="xs" component="ul" p={0} m={0}>
            {items.map((one) => (
              <Group
                key={one.id}
                component="li"
                gap="sm"
                justify="space-between"
                style={{ listStyle: 'none' }}
              >
                <Group gap="sm">
                  <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, one.id)} fw={600}>
                    #{one.seq}
                  </LinkTo>
                  <StateBadge state={one.state} />
                  <Text span size="sm" className="mono">
                    {sourceText(one)}
                  </Text>
                </Group>
                <Text span size="sm" c="dimmed">
                  <TimeText value={one.created_at} />
                </Text>
              </Group>
            ))}
          </Stack>
        )}
      </AnswerView>
    </Card>
  );
}
