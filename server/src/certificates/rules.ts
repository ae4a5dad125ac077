import type { OrderFailureReason } from '../drivers/certificates/certificate-authority.ts';

const minute = 60_000;
const hour = 60 * minute;
/** After the first failure in a row, the second, …; then always the last. */
const waits = [
  minute,
  2 * minute,
  5 * minute,
  12 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  12 * hour,
];
/** Who asks for one again need not wait longer than this; authorities bear about five failures an hour. */
export const askedAgainMs = 12 * minute;
/** Where the authority says that it is asked too often, but not until when. */
const limitedMs = hour;
/** It counts by account and by host, and does not say which: no host may hold all the others for longer. */
const heldForAllMsMax = 15 * minute;

/** When an order that failed is tried again. */
export function nextTryAt(order: {
  now: Date;
  /** In a row, with this one. */
  failures: number;
  reason: OrderFailureReason;
  /** Of the authority. */
  retryAt: Date | null;
  /** When the certificate that is to be replaced ends. */
  notAfter: Date | null;
}): { at: Date; heldUntil: Date | null } {
  const now = order.now.getTime();
  const heldUntil = order.retryAt ?? (order.reason === 'rate_limited' ? new Date(now + limitedMs) : null);
  const wait = waits[Math.min(order.failures, waits.length) - 1] ?? minute;
  const left = order.notAfter ? order.notAfter.getTime() - now : 0;
  // One that ends soon leaves no time for long waits.
  const bearable = left > 0 ? Math.max(minute, left / 4) : wait;
  const at = new Date(now + Math.min(wait, bearable));
  return { at: heldUntil && heldUntil > at ? heldUntil : at, heldUntil };
}

/** Until when nobody orders, where one order was told to come again later. */
export function heldForAll(now: Date, heldUntil: Date): Date {
  return new Date(Math.min(heldUntil.getTime(), now.getTime() + heldForAllMsMax));
}

/**
 * With a third of its life left; earlier by up to a tenth of that, so that those issued together are not all renewed
 * together.
 */
export function renewAt(life: { notBefore: Date; notAfter: Date }, random: number): Date {
  const third = (life.notAfter.getTime() - life.notBefore.getTime()) / 3;
  return new Date(life.notAfter.getTime() - third * (1 + random / 10));
}
