import { Anchor } from '@mantine/core';
import type { AppView } from './use-app.ts';

/** Where people find the app itself, once there is something to find. */
export function AppAddress({ app }: { app: AppView }) {
  if (app.url === null || app.deployment_status !== 'deployed') return null;
  return (
    <Anchor href={app.url} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {app.url.replace(/^https?:\/\//, '').replace(/\/$/, '')}
    </Anchor>
  );
}
