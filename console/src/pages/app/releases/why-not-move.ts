import {
  moveRelease,
  type ReleaseMove,
  type ReleaseMoved,
  type ReleaseSituation,
} from '@svc/contract/release-moves.ts';
import { whyNotActive } from '../why-not-active.ts';

/** Why a move is of no use to a release as it is, with what would help; null where it can be made. */
export function whyNotMove(move: ReleaseMove, situation: ReleaseSituation): string | null {
  const moved = moveRelease(move, situation);
  if (moved === 'moves') return null;
  if (moved === 'same') return repeats[move];
  if (moved === 'release_not_finalized')
    return byState[situation.release.state] ?? 'Finish the release first.';
  if (moved === 'app_not_active') return whyNotActive(situation.app) ?? 'The app is not active.';
  return reasons[moved] ?? 'The server refuses this now.';
}

const repeats: Record<ReleaseMove, string> = {
  finalize: 'It is finished already.',
  stage: 'It is staged already.',
  requestPromotion: 'Its promotion is asked for already.',
  approvePromotion: 'You have approved it already.',
  rejectPromotion: 'You have rejected it already.',
  activate: 'Visitors see it already.',
  rollback: 'Visitors see it already.',
  revoke: 'It is never shown again already.',
};

const byState: Partial<Record<ReleaseSituation['release']['state'], string>> = {
  draft: 'Its upload has not ended; finish the release first.',
  abandoned: 'It was given up before all files were there. Deploy the folder again.',
  expired: 'Newer releases have taken its place, and its files are gone. Deploy the folder again.',
};

const reasons: Partial<Record<ReleaseMoved, string>> = {
  release_not_draft: 'It takes no more files.',
  release_revoked: 'It was revoked and is never shown again.',
  release_active: 'Visitors see it. Show another release or unpublish the site first.',
  staging_disabled: 'Staging is off. Turn it on first.',
  not_staged: 'Stage it first.',
  promotion_pending: 'Its promotion waits for a review already.',
  promotion_required:
    'The app is shown beyond its owners, so a review comes first: stage it and ask for its promotion.',
  not_pending: 'Nobody has asked for its promotion.',
  staging_changed: 'What is staged or shown has changed since its promotion was asked for. Ask for it again.',
  not_rollback_target: 'Visitors never saw it, so there is nothing to go back to.',
};
