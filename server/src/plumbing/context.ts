import type { Logger } from 'pino';
import type { Db, Tx } from './db.ts';

/** What every verb gets first: who asks, for which tenant, at what time, with which connection. */
export interface Ctx {
  db: Db;
  /** One instant for the whole request. */
  now: Date;
  requestId: string;
  log: Logger;
  caller: Caller;
}

/** A verb below `/tenants/{tenantID}` has its tenant resolved and the caller's role in it checked. */
export interface TenantCtx extends Ctx {
  tenant: TenantAccess;
}

/** A verb below `/apps/{app}` has its app resolved and the caller's relation to it checked as well. */
export interface AppCtx extends TenantCtx {
  app: AppAccess;
}

/** A mutation: the same, inside one transaction, with the means to record what it does. */
export interface MutationCtx extends Ctx {
  db: Tx;
  newId(): string;
  /** Always called, also when nothing changes: then the plan still names its target, and no entry is written. */
  audit(change: AuditedChange): void;
  /** Queues an effect outside the database; it happens after the commit, at least once. */
  enqueue(topic: string, payload: Record<string, unknown>): void;
  /** Drops what any copy of the server has cached under the tag, once this commits. */
  changed(tag: string): void;
  warn(text: string): void;
  rows: RowsAccess;
}

/** Where apps' own tables live, for the verbs that shape them. */
export interface RowsAccess {
  /**
   * The transaction in which apps' tables change: this very one, or, where rows live on another server, one beside it
   * that is committed just before. Rolled back with a preview either way.
   */
  tx(): Promise<Tx>;
  /** The role that serves rows, to be let into new tables; null where it is the one that makes them. */
  role: string | null;
}

export type TenantMutationCtx = MutationCtx & TenantCtx;
export type AppMutationCtx = MutationCtx & AppCtx;

export interface Caller {
  /** `login`: an access token. `session`: a browser's cookie. `pat`: rows only. `operator`: on the machine itself. */
  kind: 'login' | 'session' | 'pat' | 'operator';
  userId: string;
  email: string;
  name: string;
  /** Of the credential, not of the person: what `revoke this session` ends. */
  credentialId: string;
  expiresAt: Date;
  /** What a personal access token is limited to; its right is this, intersected with what its issuer may do now. */
  scope?: TokenScope;
  /**
   * The app, by its id, that the person is signed in to and that acts as them with this credential. It counts for that
   * app's rows and nowhere else: the control plane knows no such caller.
   */
  throughApp?: string;
}

export interface TokenScope {
  tenantId: string;
  actions: readonly ('read' | 'write')[];
  /** Empty: every app of the issuer. */
  apps: readonly string[];
}

export interface TenantAccess {
  id: string;
  slug: string;
  name: string;
  role: 'tenant_member' | 'tenant_admin';
}

/** An app of the tenant that the caller can see, and what they are to it. */
export interface AppAccess {
  id: string;
  slug: string;
  name: string;
  ownerId: string;
  visibility: 'private' | 'invite_only' | 'public' | 'internet';
  /** A deleted one is there for its owner and for admins alone, and for the endpoints that say so. */
  record: 'active' | 'archived' | 'deleted';
  /** `member`: invited; sees the app where its visibility is for invited people, and nothing more. */
  relation: 'owner' | 'co_owner' | 'member' | 'none';
}

export interface AuditedChange {
  /** The operation's id, e.g. `grants.revoke`. */
  action: string;
  /** The app it belongs to, if any. */
  appId?: string;
  target: { kind: string; id: string; name: string };
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** The chain of the platform itself, for changes that belong to no tenant. */
export const platformTenantId = '00000000-0000-0000-0000-000000000000';
