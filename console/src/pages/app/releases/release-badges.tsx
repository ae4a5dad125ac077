import { Group } from '@mantine/core';
import { StateBadge } from '../../../parts/state-badge.tsx';
import type { ReleaseView } from './release-view.ts';

const words: Record<ReleaseView['roles'][number], string> = {
  active: 'active',
  staged: 'staged',
  promote_requested: 'waits for review',
  superseded: 'shown before',
};

/** What it is to its site; what it is itself where that is nothing. */
export function ReleaseBadges({ release: { state, roles } }: { release: ReleaseView }) {
  return (
    <Group gap={4}>
      {(state !== 'finalized' || roles.length === 0) && <StateBadge state={state} />}
      {roles.map((role) => (
        <StateBadge key={role} state={role} label={words[role]} />
      ))}
    </Group>
  );
}
