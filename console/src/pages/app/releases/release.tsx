import { Group } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  moveRelease,
  type ReleaseMove,
  type ReleaseMoved,
  type ReleaseSituation,
} from '@svc/contract/release-moves.ts';
import type { getRelease, getSite } from '@svc/contract/static-sites.ts';
import { releaseName } from '@svc/contract/static-sites.ts';
import { StateBadge } from '../../../components/display.tsx';
import { BoldLink } from '../../../components/page-layout.tsx';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';

export type Release = Answer<NonNullable<typeof getRelease.shape>>;
export type Site = Answer<NonNullable<typeof getSite.shape>>;

export function ReleaseLink({ release }: { release: Release }) {
  const { paths } = useApp();
  return <BoldLink to={paths.release(release.id)}>{releaseName(release)}</BoldLink>;
}

const roleTexts: Record<Release['roles'][number], string> = {
  active: 'active',
  staged: 'staged',
  promote_requested: 'waiting for review',
  superseded: 'previously live',
};

export function ReleaseBadges({ release: { state, roles } }: { release: Release }) {
  return (
    <Group gap={4}>
      {(state !== 'finalized' || roles.length === 0) && <StateBadge state={state} />}
      {roles.map((role) => (
        <StateBadge key={role} state={role} label={roleTexts[role]} />
      ))}
    </Group>
  );
}

export function whyNotMoveRelease(move: ReleaseMove, situation: ReleaseSituation): string | null {
  const moved = moveRelease(move, situation);
  if (moved === 'moves') return null;
  if (moved === 'same') return noopReasons[move];
  if (moved === 'release_not_finalized')
    return stateReasons[situation.release.state] ?? 'Finish the release first.';
  if (moved === 'app_not_active') return whyNotActive(situation.app) ?? 'The app is not active.';
  return refusalReasons[moved] ?? 'The server currently refuses this.';
}

const noopReasons: Record<ReleaseMove, string> = {
  finalize: 'The release is already finished.',
  stage: 'The release is already staged.',
  requestPromotion: 'Its promotion is already requested.',
  approvePromotion: 'You have already approved the promotion.',
  rejectPromotion: 'You have already rejected the promotion.',
  activate: 'The release is already live.',
  rollback: 'The release is already live.',
  revoke: 'The release is already revoked.',
};

const stateReasons: Partial<Record<ReleaseSituation['release']['state'], string>> = {
  draft: 'The upload is not complete. Finish the release first.',
  abandoned: 'The upload was abandoned. Deploy the folder again.',
  expired: 'The release has expired and its files are deleted. Deploy the folder again.',
};

const refusalReasons: Partial<Record<ReleaseMoved, string>> = {
  release_not_draft: 'The release accepts no more files.',
  release_revoked: 'The release is revoked and cannot be activated again.',
  release_active: 'The release is live. Activate another release or unpublish the site first.',
  staging_disabled: 'Staging is disabled. Enable it first.',
  not_staged: 'Stage it first.',
  promotion_pending: 'Its promotion is already waiting for review.',
  promotion_required:
    'The app is visible beyond its owners, so a review comes first: stage the release and request promotion.',
  not_pending: 'No promotion is requested.',
  staging_changed: 'The staged or live release has changed since the request. Request promotion again.',
  not_rollback_target: 'The release was never live.',
};
