import { newDataScopes } from '@svc/contract/data-scopes.ts';
import { type AppAccess, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { PublicationRow } from './publications.ts';

export type Pin = Pick<PublicationRow, 'pinned' | 'deployment_id' | 'release_id' | 'digest'>;

export interface Deployed {
  live: Omit<Pin, 'pinned'> | null;
  staged: Omit<Pin, 'pinned'> | null;
  built: Omit<Pin, 'pinned'> | null;
}

export function currentStatus(
  { status, expires_at }: { status: PublicationRow['status']; expires_at: Date | null },
  now: Date,
) {
  return status === 'pending' && expires_at !== null && expires_at <= now ? 'expired' : status;
}

export function isStillDeployed(pin: Pin, { live, staged, built }: Deployed): boolean {
  if (pin.pinned === 'built') return isSame(pin, built);
  return isSame(pin, live) || (pin.pinned === 'staged' && isSame(pin, staged));
}

export function isOver(open: PublicationRow, now: Date, deployed: Deployed): boolean {
  return currentStatus(open, now) === 'expired' || !isStillDeployed(open, deployed);
}

/** Releases are compared by release id, whichever deployment created them; others by deployment id. */
function isSame(one: Omit<Pin, 'pinned'>, other: Omit<Pin, 'pinned'> | null): boolean {
  if (other === null || one.digest !== other.digest || one.release_id !== other.release_id) return false;
  return one.release_id !== null || one.deployment_id === other.deployment_id;
}

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

export function canSeeRequest(caller: { relation: AppAccess['relation']; role: TenantAccess['role'] }) {
  return ownsApp(caller.relation) || caller.role === 'tenant_admin';
}

type RequestedScopes = Parameters<typeof newDataScopes>[0];

export function newScopes(scopes: RequestedScopes): { new_data_scopes?: string[] } {
  return hasNewScopes(scopes) ? { new_data_scopes: newDataScopes(scopes) } : {};
}

/** A person must approve what an app may do with the organisation's data; no policy does. */
export const hasNewScopes = (scopes: RequestedScopes) => newDataScopes(scopes).length > 0;
