import { pendingDaysMax, pendingTriesMax, wrongChecksMin, wrongHoursMin } from '@svc/contract/domains.ts';
import type { Checks } from './judge-checks.ts';
import type { Check, DomainRow } from './store.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const firstMs = 30 * second;
const growth = 1.17;
const slowestMs = 4 * hour;
const activeMs = 6 * hour;
const doubtMs = hour;
const outageMs = 5 * minute;
/** So much of the time it has waited already. */
const outagePart = 1 / 4;

/** Between tries of a pending one: half a minute at first, four hours at last, so that all of them take a week. */
export function pendingIntervalMs(tries: number): number {
  return Math.min(slowestMs, firstMs * growth ** tries);
}

/** While nobody answers: ever more seldom, as long as it waits. */
function outageIntervalMs(waitedMs: number): number {
  return Math.min(slowestMs, Math.max(outageMs, waitedMs * outagePart));
}

/** What was asked while nobody could answer counts for nothing. */
export interface Looked extends Checks {
  certificate: Check;
  /** By their own name servers: routing, and of one that is not active ownership as well. */
  isKnown: boolean;
  now: Date;
  by: 'clock' | 'person';
}

type State = Pick<
  DomainRow,
  'status' | 'pending_since' | 'tries' | 'wrong_since' | 'wrong_checks' | 'next_check_at'
>;
export type Move = Partial<State & Pick<DomainRow, 'verified_at' | 'disconnected_at' | 'disconnected_for'>>;

/** What becomes of a domain by what was found out about it. */
export function moveDomain(row: State, looked: Looked): Move {
  switch (row.status) {
    case 'pending':
      return movePending(row, looked);
    case 'active':
      return moveActive(row, looked);
    case 'disconnected': {
      // Somebody asks: it begins anew.
      const anew = { status: 'pending', pending_since: looked.now, tries: 0 } as const;
      const cleared = { disconnected_at: null, disconnected_for: null, wrong_since: null, wrong_checks: 0 };
      return { ...anew, ...cleared, ...movePending({ ...row, ...anew }, looked) };
    }
  }
}

function movePending(row: State, looked: Looked): Move {
  const { now, by } = looked;
  const waitedMs = now.getTime() - row.pending_since.getTime();
  const isLate = waitedMs >= pendingDaysMax * day;
  if (!looked.isKnown) {
    // Also where all was right before: it becomes active by what is so now.
    if (isLate && by === 'clock') return disconnected(now, 'not_verified');
    return { next_check_at: after(now, outageIntervalMs(waitedMs)) };
  }
  if ([looked.ownership, looked.routing, looked.certificate].every(({ state }) => state === 'ok')) {
    const calm = { wrong_since: null, wrong_checks: 0, tries: 0 };
    return { ...calm, status: 'active', verified_at: now, next_check_at: after(now, activeMs) };
  }
  // Who asks often must not use the tries up.
  const tries = by === 'clock' ? row.tries + 1 : row.tries;
  if ((isLate || tries >= pendingTriesMax) && by === 'clock') return disconnected(now, 'not_verified');
  return { tries, next_check_at: after(now, pendingIntervalMs(tries)) };
}

/** Where it leads is what counts: a proof that is gone lets another claim it, and takes it from nobody. */
function moveActive(row: State, looked: Looked): Move {
  const { now, routing, certificate } = looked;
  if (certificate.reason === 'expired') return disconnected(now, 'certificate_expired');
  if (!looked.isKnown) return { next_check_at: after(now, doubtMs) };
  if (routing.state === 'ok')
    return { wrong_since: null, wrong_checks: 0, next_check_at: after(now, activeMs) };
  const wrong_since = row.wrong_since ?? now;
  const wrong_checks = row.wrong_checks + 1;
  const isLong = now.getTime() - wrong_since.getTime() >= wrongHoursMin * hour;
  if (isLong && wrong_checks >= wrongChecksMin) return disconnected(now, 'records_wrong');
  return { wrong_since, wrong_checks, next_check_at: after(now, doubtMs) };
}

export function disconnected(now: Date, why: NonNullable<DomainRow['disconnected_for']>): Move {
  return { status: 'disconnected', disconnected_at: now, disconnected_for: why, next_check_at: null };
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + Math.round(ms));
}
