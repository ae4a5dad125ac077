import { declareSealingKey } from '../../core/keys.ts';
import type { OrderErrorReason } from '../../drivers/certificates/acme.ts';

const minute = 60_000;
/** Delay after the nth consecutive failure; the last one repeats. */
const waits = [1, 2, 5, 12, 30, 60, 120, 240, 480, 720].map((minutes) => minutes * minute);
/** Minimum delay of a manual retry. Authorities allow about five failures per host and hour. */
export const manualRetryMs = 12 * minute;
const rateLimitedMs = 60 * minute;
/** A rate limit applies to the account or to the host, without saying which: one host blocks all others no longer than this. */
const pauseForAllMsMax = 15 * minute;

export function nextTryAt(order: {
  now: Date;
  failures: number;
  reason: OrderErrorReason;
  retryAt: Date | null;
  /** Expiry of the certificate to be replaced. */
  notAfter: Date | null;
}): { at: Date; pausedUntil: Date | null } {
  const now = order.now.getTime();
  const pausedUntil =
    order.retryAt ?? (order.reason === 'rate_limited' ? new Date(now + rateLimitedMs) : null);
  const wait = waits[Math.min(order.failures, waits.length) - 1] ?? minute;
  const left = order.notAfter ? order.notAfter.getTime() - now : 0;
  // A certificate that expires soon allows no long delays.
  const delayMax = left > 0 ? Math.max(minute, left / 4) : wait;
  const at = new Date(now + Math.min(wait, delayMax));
  return { at: pausedUntil && pausedUntil > at ? pausedUntil : at, pausedUntil };
}

export function pauseForAll(now: Date, pausedUntil: Date): Date {
  return new Date(Math.min(pausedUntil.getTime(), now.getTime() + pauseForAllMsMax));
}

/** With a third of the lifetime left, less up to a tenth of that: certificates issued together are not renewed together. */
export function renewAt(life: { notBefore: Date; notAfter: Date }, random: number): Date {
  const third = (life.notAfter.getTime() - life.notBefore.getTime()) / 3;
  return new Date(life.notAfter.getTime() - third * (1 + random / 10));
}

/** Invalidated when a certificate is issued. Removing a domain invalidates `domainsTag`. */
export const certificatesTag = 'certificates';

export const certificateKey = declareSealingKey({
  name: 'certificates.sealing_key',
  protects: 'Private keys of TLS certificates',
  columns: { 'certificates.key_sealed': 'domain_id::text' },
});
