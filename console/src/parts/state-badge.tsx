import { Badge } from '@mantine/core';

/** One colour for one meaning, whatever the noun: good, under way, waiting for somebody, bad, over. */
const colors: Record<string, string> = {
  live: 'green',
  active: 'green',
  running: 'green',
  approved: 'green',
  deployed: 'green',
  done: 'green',
  ok: 'green',
  published: 'green',
  added: 'green',
  queued: 'blue',
  building: 'blue',
  built: 'blue',
  releasing: 'blue',
  staged: 'blue',
  finalized: 'blue',
  changed: 'blue',
  pending: 'yellow',
  promote_requested: 'yellow',
  waiting: 'yellow',
  suspended: 'orange',
  disconnected: 'red',
  failed: 'red',
  rejected: 'red',
  revoked: 'red',
  deleted: 'red',
  removed: 'red',
};

export function StateBadge({ state, label }: { state: string; label?: string }) {
  return (
    <Badge variant="light" color={colors[state] ?? 'gray'} radius="sm" tt="none">
      {label ?? state.replaceAll('_', ' ')}
    </Badge>
  );
}
