import { Anchor, Text } from '@mantine/core';
import type { AppView } from './use-app.ts';
import { whyNotVisit } from './why-not-visit.ts';

/** Where people find the app itself, once there is something to find. */
export function AppAddress({ app }: { app: AppView }) {
  if (app.url === null || app.deployment_status !== 'deployed') return null;
  const address = app.url.replace(/^https?:\/\//, '').replace(/\/$/, '');
  // A link that leads to a refusal is none.
  if (whyNotVisit(app) !== null)
    return (
      <Text span size="sm" style={{ overflowWrap: 'anywhere' }}>
        {address}
      </Text>
    );
  return (
    <Anchor href={app.url} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {address}
    </Anchor>
  );
}
