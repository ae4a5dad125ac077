import { SimpleGrid, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { ReactNode } from 'react';
import { CopyText } from '../../../parts/copy-text.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { usePersonNames } from '../use-person-names.ts';
import type { Deployment } from './deployment-phases.ts';
import { reasonText } from './deployment-texts.ts';

/** Where it came from. */
export function DeploymentFacts({ deployment: one }: { deployment: Deployment }) {
  const { app, tenant } = useApp();
  const nameOf = usePersonNames();
  const facts: [string, ReactNode][] = [
    ['Begun', <TimeText key="begun" value={one.created_at} />],
    ['By', nameOf(one.created_by) ?? reasonText(one)],
  ];
  if (one.repo) facts.push(['Repository', one.ref ? `${one.repo}, ${one.ref}` : one.repo]);
  if (one.commit) facts.push(['Commit', <CopyText key="commit" value={one.commit} label="commit" />]);
  if (one.commit_message) facts.push(['Message', one.commit_message.split('\n')[0]]);
  if (one.source === 'upload') facts.push(['Source', 'uploaded']);
  if (one.rollback_of)
    facts.push([
      'Back to',
      <LinkTo key="back" to={consolePaths.deployment(tenant.slug, app.slug, one.rollback_of)}>
        an earlier deployment
      </LinkTo>,
    ]);
  if (one.release_id)
    facts.push([
      'Release',
      <LinkTo key="release" to={consolePaths.release(tenant.slug, app.slug, one.release_id)}>
        the files it made
      </LinkTo>,
    ]);
  if (one.live_at) facts.push(['Live', <TimeText key="live" value={one.live_at} />]);
  facts.push(['Id', <CopyText key="id" value={one.id} label="deployment id" />]);
  return (
    <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 3 }} spacing="sm" m={0}>
      {facts.map(([label, value]) => (
        <Stack key={label} gap={0} component="div">
          <Text component="dt" size="sm" c="dimmed">
            {label}
          </Text>
          <Text component="dd" m={0} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {value}
          </Text>
        </Stack>
      ))}
    </SimpleGrid>
  );
}
