import { pendingDaysMax, pendingTriesMax, wrongChecksMin, wrongHoursMin } from '@svc/contract/domains.ts';
import type { Checks } from './evaluate-checks.ts';
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
const outagePart = 1 / 4;

export function pendingIntervalMs(tries: number): number {
  return Math.min(slowestMs, firstMs * growth ** tries);
}

function outageIntervalMs(waitedMs: number): number {
  return Math.min(slowestMs, Math.max(outageMs, waitedMs * outagePart));
}

export interface CheckOutcome extends Checks {
  certificate: Check;
  isKnown: boolean;
  now: Date;
  by: 'clock' | 'person';
}

type State = Pick<
  DomainRow,
  'status' | 'pending_since' | 'tries' | 'wrong_since' | 'wrong_checks' | 'next_check_at'
>;
type StateChange = Partial<State & Pick<DomainRow, 'verified_at' | 'disconnected_at' | 'disconnected_for'>>;

export function transition(row: State, outcome: CheckOutcome): StateChange {
  switch (row.status) {
    case 'pending':
      return transitionPending(row, outcome);
    case 'active':
      return transitionActive(row, outcome);
    case 'disconnected': {
      const restarted = { status: 'pending', pending_since: outcome.now, tries: 0 } as const;
      const cleared = { disconnected_at: null, disconnected_for: null, wrong_since: null, wrong_checks: 0 };
      return { ...restarted, ...cleared, ...transitionPending({ ...row, ...restarted }, outcome) };
    }
  }
}

function transitionPending(row: State, outcome: CheckOutcome): StateChange {
  const { now, by } = outcome;
  const waitedMs = now.getTime() - row.pending_since.getTime();
  const isLate = waitedMs >= pendingDaysMax * day;
  if (!outcome.isKnown) {
    // Even if the stored checks are ok: only a current lookup activates a domain.
    if (isLate && by === 'clock') return disconnect(now, 'not_verified');
    return { next_check_at: after(now, outageIntervalMs(waitedMs)) };
  }
  if ([outcome.ownership, outcome.routing, outcome.certificate].every(({ state }) => state === 'ok')) {
    const calm = { wrong_since: null, wrong_checks: 0, tries: 0 };
    return { ...calm, status: 'active', verified_at: now, next_check_at: after(now, activeMs) };
  }
  // Manual checks do not use up the tries.
  const tries = by === 'clock' ? row.tries + 1 : row.tries;
  if ((isLate || tries >= pendingTriesMax) && by === 'clock') return disconnect(now, 'not_verified');
  return { tries, next_check_at: after(now, pendingIntervalMs(tries)) };
}

/** Only routing counts. A missing TXT record disconnects nobody; it allows another app to claim the host. */
function transitionActive(row: State, outcome: CheckOutcome): StateChange {
  const { now, routing, certificate } = outcome;
  if (certificate.reason === 'expired') return disconnect(now, 'certificate_expired');
  if (!outcome.isKnown) return { next_check_at: after(now, doubtMs) };
  if (routing.state === 'ok')
    return { wrong_since: null, wrong_checks: 0, next_check_at: after(now, activeMs) };
  const wrong_since = row.wrong_since ?? now;
  const wrong_checks = row.wrong_checks + 1;
  const isLong = now.getTime() - wrong_since.getTime() >= wrongHoursMin * hour;
  if (isLong && wrong_checks >= wrongChecksMin) return disconnect(now, 'records_wrong');
  return { wrong_since, wrong_checks, next_check_at: after(now, doubtMs) };
}

export function disconnect(now: Date, why: NonNullable<DomainRow['disconnected_for']>): StateChange {
  return { status: 'disconnected', disconnected_at: now, disconnected_for: why, next_check_at: null };
}

function after(now: Date, ms: number): Date {
  return new Date(now.getTime() + Math.round(ms));
}
