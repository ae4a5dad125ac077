import type { AppRelation } from '@svc/contract/endpoint.ts';
import type { PatAction } from '@svc/contract/pat-actions.ts';
import type { PlanEffect } from '@svc/contract/plan.ts';
import type { ServiceAccountAction } from '@svc/contract/service-accounts.ts';
import type { Logger } from 'pino';
import type { Db, StatementLog, Tx } from './db.ts';
import type { EventSource } from './events.ts';

export interface Ctx {
  db: Db;
  now: Date;
  requestId: string;
  log: Logger;
  caller: Caller;
}

export interface TenantCtx extends Ctx {
  tenant: TenantAccess;
}

export interface AppCtx extends TenantCtx {
  app: AppAccess;
}

export interface MutationCtx extends Ctx {
  db: Tx;
  newId(): string;
  audit(change: AuditedChange): void;
  enqueue(topic: string, payload: Record<string, unknown>): void;
  invalidate(tag: string): void;
  warn(text: string): void;
  /** Warns, and makes the plan irreversible. The endpoint must be `irreversible` at least `sometimes`. */
  warnOfLoss(text: string): void;
  /** Called for a preview only, before the rollback: what the change means for people. */
  foresee(load: () => Promise<Foreseen>): void;
  events: EventSource;
  rows: RowTransaction;
}

export interface Foreseen {
  effects: PlanEffect[];
  leftOff: number;
}

export interface RowTransaction {
  /** A second transaction where the tables are in another database; committed just after the main one. */
  tx(): Promise<RowTx>;
  requireFinished(appId: string): Promise<void>;
  /** The role that serves rows and needs access to new tables; null where the same role creates them. */
  role: string | null;
}

export interface RowTx extends Tx {
  statements?: StatementLog;
}

export type TenantMutationCtx = MutationCtx & TenantCtx;
export type AppMutationCtx = MutationCtx & AppCtx;

export interface Caller {
  /**
   * `login`: an access token. `session`: a browser cookie. `pat`: what its actions allow. `scim`: the directory of a tenant,
   * whose id is that of its token. `app`: an instance of an app, whose id is the app's. `service_account`: a program with a
   * token of an app's service account. `operator`: on the server machine. `anonymous`: only in the audit log, for a failed
   * sign-in.
   */
  kind: 'login' | 'session' | 'pat' | 'scim' | 'app' | 'service_account' | 'operator' | 'anonymous';
  userId: string;
  email: string;
  name: string;
  credentialId: string;
  expiresAt: Date;
  scope?: TokenScope;
  ownApp?: AppRef;
  throughApp?: string;
}

/** `rows` of a service account is `read` and `write`. */
export type TokenAction = PatAction | Extract<ServiceAccountAction, 'tables' | 'storage'>;

export interface TokenScope {
  tenantId: string;
  actions: readonly TokenAction[];
  isReadOnly?: true;
  apps: readonly string[];
}

export interface TenantAccess {
  id: string;
  slug: string;
  name: string;
  role: 'tenant_member' | 'tenant_admin';
}

export interface AppAccess {
  id: string;
  slug: string;
  name: string;
  ownerId: string;
  visibility: 'private' | 'invite_only' | 'public' | 'internet';
  /** A deleted app is visible only to its owner and to admins, and only to endpoints that declare it. */
  record: 'active' | 'archived' | 'deleted';
  relation: 'owner' | 'co_owner' | 'member' | 'none';
  previewOf: string | null;
}

export interface AuditedChange {
  action: string;
  appId?: string;
  target: { kind: string; id: string; name: string };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export const platformTenantId = '00000000-0000-0000-0000-000000000000';

export interface AppRef {
  tenantId: string;
  appId: string;
}

export const appRef = ({ tenant, app }: { tenant: { id: string }; app: { id: string } }): AppRef => ({
  tenantId: tenant.id,
  appId: app.id,
});

export function satisfiesRelation(
  required: AppRelation,
  { relation }: Pick<AppAccess, 'relation'>,
  { role }: Pick<TenantAccess, 'role'>,
): boolean {
  const isOwner = ownsApp(relation);
  return {
    visible: true,
    owner: relation === 'owner',
    owners: isOwner,
    owners_or_admin: isOwner || role === 'tenant_admin',
    admin: role === 'tenant_admin',
    representative_or_admin: relation === 'owner' || role === 'tenant_admin',
  }[required];
}

export function ownsApp(relation: AppAccess['relation']): boolean {
  return relation === 'owner' || relation === 'co_owner';
}
