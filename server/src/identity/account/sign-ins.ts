import type { SignIn } from '@svc/contract/identity.shapes.ts';
import type { z } from 'zod';
import { type AuditEntriesTable, listEntriesOfUser } from '../../core/audit.ts';
import { type Caller, type Ctx, platformTenantId } from '../../core/context.ts';
import { type OperatorDeps, runAs } from '../../core/mutation.ts';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';

export type SignInMethod =
  | 'password'
  | 'upstream'
  | 'local'
  | 'passkey'
  | 'password_and_passkey'
  | 'password_and_totp'
  | 'password_and_recovery_code';

interface SignInEvent {
  action: 'account.sign_in' | 'account.sign_in_failed' | 'account.approve_device';
  user: { id: string; email: string };
  /** `session`: while signed in, to prove the password. */
  method: SignInMethod | 'browser' | 'session';
  address: string;
  device: string;
  requestId: string;
}

const noCredential = { name: '', credentialId: '', expiresAt: new Date(8.64e15) };

/** Somebody who acts without a session: while signing in, or by a link. */
export function userCaller({ id, email }: { id: string; email: string }): Caller {
  return { ...noCredential, kind: 'session', userId: id, email };
}

export function anonymousCaller(address: string): Caller {
  return { ...noCredential, kind: 'anonymous', userId: '', email: address };
}

export type SignInDeps = Omit<OperatorDeps, 'outbox'>;

/** In the audit chain of the platform: a user can be in several tenants, or in none. */
export async function recordSignInEvent(deps: SignInDeps, event: SignInEvent): Promise<void> {
  const { action, user, method, address, device, requestId } = event;
  const isStranger = action === 'account.sign_in_failed' && method !== 'session';
  const caller = isStranger ? anonymousCaller(address) : userCaller(user);
  const change = { name: action, auditTenantId: platformTenantId, requestId };
  await runAs({ ...deps, outbox: rowsOnlyOutbox }, caller, change, async (ctx) =>
    ctx.audit({
      action,
      target: { kind: 'user', id: user.id, name: user.email },
      before: null,
      after: { method, address, device },
    }),
  );
}

/** Audited actions that concern the user's access, with the names under which they are listed. */
const listedActions: Readonly<Record<string, z.output<typeof SignIn>['event']>> = {
  'account.sign_in': 'signed_in',
  'account.sign_in_failed': 'sign_in_failed',
  'account.approve_device': 'device_approved',
  'pats.create': 'token_created',
  'tokens.issue': 'token_issued',
  'users.set_password': 'password_changed',
  'factors.add': 'factor_added',
  'factors.remove': 'factor_removed',
  'factors.reset': 'factors_reset',
  'factors.reset_recovery_codes': 'recovery_codes_replaced',
};

export async function listSignIns(ctx: Ctx, query: PageQuery) {
  const { rows, total } = await listEntriesOfUser(
    ctx.db,
    { tenantId: platformTenantId, userId: ctx.caller.userId, actions: Object.keys(listedActions) },
    pageWindow(query),
  );
  return toPage(query, rows.map(signInRecord), total);
}

function signInRecord(entry: AuditEntriesTable): z.output<typeof SignIn> {
  const changes = JSON.parse(entry.changes) as { path: string; after: unknown }[];
  const field = (path: string) => {
    const value = changes.find((change) => change.path === path)?.after;
    return typeof value === 'string' ? value : '';
  };
  return {
    at: entry.at.toISOString(),
    event: listedActions[entry.action] ?? 'signed_in',
    method: field('method') || field('kind'),
    address: field('address'),
    device: field('device'),
    name: entry.action === 'pats.create' ? entry.target_name : '',
  };
}
