import type { InstanceRow } from './instances-store.ts';
import { drainMsMax, drainMsMin } from './rules.ts';

export interface Draining {
  now: Date;
  /** Requests that this copy of the server has under way at the address. */
  underWay: number;
  /** `many`: what others have under way there is not known. */
  copies: 'one' | 'many';
}

/** Whether an instance that gets no new requests may end: when it has none any more, or has had its time. */
export function isDrained(
  { draining_at, address }: Pick<InstanceRow, 'draining_at' | 'address'>,
  { now, underWay, copies }: Draining,
): boolean {
  // Nobody was ever led to it.
  if (address === null || draining_at === null) return true;
  const elapsed = now.getTime() - draining_at.getTime();
  if (elapsed >= drainMsMax) return true;
  return copies === 'one' && elapsed >= drainMsMin && underWay === 0;
}
