import type { AppAccess, TenantAccess } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import type { PublicationRow, PublicationStatus } from './store.ts';

/** What a review is of: exactly one thing, by the sum of all that it is. */
export type Pin = Pick<PublicationRow, 'pinned' | 'deployment_id' | 'release_id' | 'digest'>;

/** What could be reviewed of an app at one moment. */
export interface Deployed {
  live: Omit<Pin, 'pinned'> | null;
  staged: Omit<Pin, 'pinned'> | null;
}

/** As it stands now: one that has waited for too long is over, also before that is written down. */
export function statusOf(row: Pick<PublicationRow, 'status' | 'expires_at'>, now: Date): PublicationStatus {
  return row.status === 'pending' && row.expires_at <= now ? 'expired' : row.status;
}

/** Whether what a request is of is still there to be approved; what was staged may be live by now. */
export function stands(pin: Pin, { live, staged }: Deployed): boolean {
  return isSame(pin, live) || (pin.pinned === 'staged' && isSame(pin, staged));
}

/** Whether one that waits is over, also before that is written down. */
export function isOver(open: PublicationRow, now: Date, deployed: Deployed): boolean {
  return statusOf(open, now) === 'expired' || !stands(open, deployed);
}

/** A release is the same whichever deployment has brought it; a deployment is the same as itself alone. */
function isSame(one: Omit<Pin, 'pinned'>, other: Omit<Pin, 'pinned'> | null): boolean {
  if (other === null || one.digest !== other.digest || one.release_id !== other.release_id) return false;
  return one.release_id !== null || one.deployment_id === other.deployment_id;
}

/** What a request names: what is live, or what is staged; undefined where it is neither. */
export function pinFor(named: string | undefined, { live, staged }: Deployed): Pin | undefined {
  const isNamed = (it: Omit<Pin, 'pinned'>) =>
    named === undefined || it.deployment_id === named || it.release_id === named;
  if (live && isNamed(live)) return { ...live, pinned: 'live' };
  if (named !== undefined && staged && isNamed(staged)) return { ...staged, pinned: 'staged' };
  return undefined;
}

export function isSamePin(one: Pin, other: Pin): boolean {
  return one.pinned === other.pinned && isSame(one, other);
}

/** Whether they know of the request at all: by what they are to the app now, also who asked for it. */
export function mayLook(caller: { relation: AppAccess['relation']; role: TenantAccess['role'] }): boolean {
  return ownsApp(caller.relation) || caller.role === 'tenant_admin';
}
