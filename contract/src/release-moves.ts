import { visibilities } from './apps.ts';
import type { ErrorCode } from './error-codes.ts';
import type { promotionStatuses, releaseRoles, releaseStates } from './static-sites.ts';

/** For clients that explain why a move is not possible. A test compares these rules with the server's. */
export const releaseMoveNames = [
  'finalize',
  'stage',
  'requestPromotion',
  'approvePromotion',
  'rejectPromotion',
  'activate',
  'rollback',
  'revoke',
] as const;
export type ReleaseMove = (typeof releaseMoveNames)[number];
type ReleaseState = (typeof releaseStates)[number];

export interface ReleaseSituation {
  release: {
    id: string;
    state: ReleaseState;
    roles: readonly (typeof releaseRoles)[number][];
    reviewed_for: (typeof visibilities)[number] | null;
  };
  site: {
    published: boolean;
    staging_enabled: boolean;
    promotion: { release_id: string; status: (typeof promotionStatuses)[number] } | null;
  };
  app: { record: string; visibility: (typeof visibilities)[number] };
}

/** `same`: a repeat, which changes nothing. A code refuses. */
export type ReleaseMoved = 'moves' | 'same' | ErrorCode;

const byState: Readonly<
  Record<Exclude<ReleaseState, 'finalized'>, Readonly<Record<ReleaseMove, ReleaseMoved>>>
> = {
  draft: {
    ...all('release_not_finalized'),
    ...noPromotionRequest(),
    ...noTarget(),
    finalize: 'moves',
    revoke: 'moves',
  },
  revoked: { ...all('release_revoked'), ...noPromotionRequest(), revoke: 'same' },
  abandoned: {
    ...all('release_not_finalized'),
    ...noPromotionRequest(),
    ...noTarget(),
    finalize: 'release_not_draft',
    revoke: 'same',
  },
  expired: {
    ...all('release_not_finalized'),
    ...noPromotionRequest(),
    ...noTarget(),
    finalize: 'release_not_draft',
  },
};

export function moveRelease(move: ReleaseMove, situation: ReleaseSituation): ReleaseMoved {
  const { release, app } = situation;
  if (app.record !== 'active' && !whileArchived.has(move)) return 'app_not_active';
  return release.state === 'finalized' ? ofFinalized[move](situation) : byState[release.state][move];
}

const whileArchived: ReadonlySet<ReleaseMove> = new Set(['rejectPromotion', 'revoke']);

const ofFinalized: Readonly<Record<ReleaseMove, (situation: ReleaseSituation) => ReleaseMoved>> = {
  finalize: () => 'same',
  stage: ({ site, release }) => {
    if (!site.staging_enabled) return 'staging_disabled';
    return release.roles.includes('staged') ? 'same' : 'moves';
  },
  requestPromotion: ({ release: { roles } }) => {
    if (!roles.includes('staged')) return 'not_staged';
    return roles.includes('promote_requested') ? 'promotion_pending' : 'moves';
  },
  approvePromotion: (situation) => {
    const { release, site } = situation;
    const isStale = site.promotion?.release_id === release.id && site.promotion.status === 'stale';
    return isStale ? 'staging_changed' : decide(situation);
  },
  rejectPromotion: decide,
  activate: show,
  rollback: (situation) => {
    const { roles } = situation.release;
    const wasShown = roles.includes('active') || roles.includes('superseded');
    return wasShown ? show(situation) : 'not_rollback_target';
  },
  revoke: (situation) => (isShown(situation) ? 'release_active' : 'moves'),
};

function decide({ release }: ReleaseSituation): ReleaseMoved {
  return release.roles.includes('promote_requested') ? 'moves' : 'not_pending';
}

/** Beyond the owners, only a release reviewed for that visibility; the active one may be activated again. */
function show(situation: ReleaseSituation): ReleaseMoved {
  const { release, app } = situation;
  if (isShown(situation)) return 'same';
  const { reviewed_for } = release;
  const isReviewed =
    reviewed_for !== null && visibilities.indexOf(reviewed_for) >= visibilities.indexOf(app.visibility);
  return app.visibility === 'private' || release.roles.includes('active') || isReviewed
    ? 'moves'
    : 'promotion_required';
}

function isShown({ release, site }: ReleaseSituation): boolean {
  return site.published && release.roles.includes('active');
}

function all(code: ErrorCode): Record<ReleaseMove, ReleaseMoved> {
  return Object.fromEntries(releaseMoveNames.map((name) => [name, code])) as Record<
    ReleaseMove,
    ReleaseMoved
  >;
}

function noPromotionRequest() {
  return { rejectPromotion: 'not_pending' } as const;
}

function noTarget() {
  return { rollback: 'not_rollback_target' } as const;
}
