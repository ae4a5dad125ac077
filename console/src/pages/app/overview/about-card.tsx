import { Button, SimpleGrid, Stack, Text } from '@mantine/core';
import { getCategory } from '@svc/contract/categories.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { listAppMembers } from '@svc/contract/owners.ts';
import { IconExternalLink } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useAnswer } from '../../../api/use-answer.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotVisit } from '../why-not-visit.ts';
import { Card } from './card.tsx';

/** What everybody who sees the app may know of it. */
export function AboutCard() {
  const { app, tenant, params, why } = useApp();
  const category = useAnswer(
    getCategory,
    { params: { tenantID: tenant.id, categoryID: app.category_id ?? '' } },
    { enabled: app.category_id !== null },
  );
  const people = useAnswer(
    listAppMembers,
    { params, query: { per_page: 200 } },
    { enabled: why(listAppMembers) === null && app.record !== 'deleted' },
  );
  const facts: [string, ReactNode][] = [['Owner', app.owner_name]];
  if (app.category_id !== null) facts.push(['Category', category.data?.name ?? '…']);
  if (people.data)
    facts.push([
      'People',
      <LinkTo key="people" to={consolePaths.app(tenant.slug, app.slug, 'people')}>
        {people.data.total === 1 ? '1 person' : `${people.data.total} people`}
      </LinkTo>,
    ]);
  facts.push(['Made', <TimeText key="made" value={app.created_at} />]);
  const noVisit = whyNotVisit(app);
  const isOpen = app.url !== null && app.deployment_status === 'deployed';
  return (
    <Card
      title="About"
      more={
        isOpen &&
        (noVisit !== null ? (
          <MayButton why={noVisit} onClick={() => {}}>
            Open the app
          </MayButton>
        ) : (
          <Button
            component="a"
            href={app.url ?? ''}
            target="_blank"
            rel="noreferrer"
            rightSection={<IconExternalLink size={16} aria-hidden />}
          >
            Open the app
          </Button>
        ))
      }
    >
      {app.summary && <Text fw={600}>{app.summary}</Text>}
      <Text style={{ whiteSpace: 'pre-wrap' }} c={app.description ? undefined : 'dimmed'}>
        {app.description || 'Nothing is said of it yet.'}
      </Text>
      <SimpleGrid component="dl" cols={{ base: 2, sm: 4 }} spacing="sm" m={0}>
        {facts.map(([label, value]) => (
          <Stack key={label} gap={0} component="div">
            <Text component="dt" size="sm" c="dimmed">
              {label}
            </Text>
            <Text component="dd" m={0} size="sm">
              {value}
            </Text>
          </Stack>
        ))}
      </SimpleGrid>
    </Card>
  );
}
