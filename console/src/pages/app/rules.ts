import { type AppMove, type AppState, moveApp } from '@svc/contract/app-states.ts';
import { removeCoOwner } from '@svc/contract/apps.ts';
import { newDataScopes } from '@svc/contract/data-scopes.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';
import { removeAppMember } from '@svc/contract/owners.ts';
import { type Caller, whyNot } from '../../api/me.ts';
import type { AppView } from './use-app.tsx';

export function whyNotActive({ record }: { record: string }): string | null {
  if (record === 'archived') return 'The app is archived. Reactivate it first.';
  if (record === 'deleted') return 'The app is deleted. Restore it first.';
  return null;
}

export function whyNotInUse(app: Pick<AppView, 'record' | 'runtime'>): string | null {
  return whyNotActive(app) ?? (app.runtime === 'suspended' ? 'The app is suspended. Resume it first.' : null);
}

/** Uses the app and does not run it. */
export function isVisitor({ relation }: Pick<AppView, 'relation'>, { role }: Pick<Caller, 'role'>): boolean {
  return role !== 'tenant_admin' && (relation === 'none' || relation === 'member');
}

export function whyNotVisit({
  visibility,
  relation,
}: Pick<AppView, 'visibility' | 'relation'>): string | null {
  if (relation === 'owner' || relation === 'co_owner') return null;
  if (visibility === 'private') return 'The app is private: only its owner and co-owners can open it.';
  if (visibility === 'invite_only' && relation !== 'member')
    return 'Only its owner, co-owners and invited people can open it.';
  return null;
}

const refusalReasons: Partial<Record<ErrorCode, string>> = {
  nothing_deployed: 'The app is not deployed. Deploy it first.',
  no_successful_deployment: 'No deployment has succeeded. Deploy the app first.',
  invalid_state_transition: 'The app is archived. Reactivate it first.',
  not_found: 'The app is deleted. Restore it first.',
  not_deleted: 'Only a deleted app can be purged. Delete it first.',
};

const noopReasons: Readonly<Record<AppMove, string>> = {
  archive: 'The app is already archived.',
  reactivate: 'The app is already active.',
  suspend: 'The app is already suspended.',
  resume: 'The app is already running.',
  delete: 'The app is already deleted.',
  restore: 'The app is not deleted.',
  purge: 'The app is already purged.',
};

export function whyNotMoveApp(move: AppMove, state: AppState): string | null {
  const moved = moveApp(move, state);
  if (moved.kind === 'same') return noopReasons[move];
  if (moved.kind === 'refused') return refusalReasons[moved.code] ?? 'Not possible in this state.';
  return null;
}

export function availableMove([first, second]: readonly [AppMove, AppMove], state: AppState): AppMove {
  return moveApp(second, state).kind === 'moves' ? second : first;
}

export type NextStep = 'deploy' | Extract<AppMove, 'resume' | 'reactivate' | 'restore'>;

export function nextStep(app: Pick<AppView, 'record' | 'runtime' | 'deployment_status'>): NextStep | null {
  const leads = (['restore', 'reactivate', 'resume'] as const).find(
    (move) => moveApp(move, app).kind === 'moves',
  );
  if (leads) return leads;
  return app.deployment_status === 'draft' ? 'deploy' : null;
}

type PublishState = Pick<AppView, 'record' | 'runtime' | 'deployment_status' | 'visibility'> &
  Partial<Pick<AppView, 'data_scopes' | 'approved_data_scopes'>>;

/** Scopes that only owners can use before a review. */
export function waitingScopes({ data_scopes = [], approved_data_scopes = [] }: Partial<AppView>): string[] {
  return newDataScopes({ data_scopes, data_scopes_before: approved_data_scopes });
}

export function whyNotPublish(
  app: PublishState,
  { hasOpen, hasStaged }: { hasOpen: boolean; hasStaged: boolean },
): string | null {
  const notInUse = whyNotInUse(app);
  if (notInUse !== null) return notInUse;
  if (app.visibility === 'internet' && waitingScopes(app).length === 0)
    return 'The app is already visible to everybody.';
  if (hasOpen) return 'A request is waiting for review. Withdraw it first.';
  if (app.deployment_status === 'draft' && !hasStaged)
    return 'Nothing is deployed yet. Deploy the app first.';
  return null;
}

export function whyNotRemove(
  { role, user_id }: { role: 'owner' | 'co_owner' | 'member'; user_id: string | null },
  asker: Caller & { id: string },
): string | null {
  if (role === 'owner') return 'The owner leaves by transferring the app.';
  if (user_id === asker.id) return null;
  if (role === 'member') return whyNot(removeAppMember, asker);
  // The permission table has `self` for co-owners: they may remove only themselves.
  const others = { who: { ...removeCoOwner.who, C: 'n' } } as const;
  return whyNot(others, asker);
}

/** A sleeping app runs again with the next request, so to the server it is `running`. */
export function appState(
  { record, runtime }: Pick<AppView, 'record' | 'runtime'>,
  instances: readonly { state: string }[],
): string {
  if (record !== 'active') return record;
  const isAsleep = instances.length > 0 && instances.every(({ state }) => state === 'asleep');
  return runtime === 'running' && isAsleep ? 'asleep' : runtime;
}
