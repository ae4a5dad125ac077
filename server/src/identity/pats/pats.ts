import type { Pat, createPat as shape } from '@svc/contract/identity.shapes.ts';
import { patLifeDaysDefault, patsPerUserMax } from '@svc/contract/identity.ts';
import { describePatAction } from '@svc/contract/pat-actions.ts';
import type { z } from 'zod';
import { findApp } from '../../apps/record/find-app.ts';
import type { AppRef, AuditedChange, MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { credentialTag } from '../../core/tags.ts';
import { daysAfter, sha256 } from '../../core/values.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { makePat } from './find-pat.ts';
import {
  countActivePats,
  insertPatRow,
  listPatRows,
  lockActivePatRows,
  lockPatRow,
  lockUserPats,
  markRevoked,
  type PatRow,
  saveApps,
} from './store.ts';

type PatRecord = z.output<typeof Pat>;

/** Expiry is evaluated on read. */
export function patStatus(pat: Pick<PatRow, 'revoked_at' | 'expires_at'>, now: Date): PatRecord['status'] {
  if (pat.revoked_at) return 'revoked';
  return pat.expires_at <= now ? 'expired' : 'active';
}

function patRecord({ secret_hash: _, ...row }: PatRow, now: Date): PatRecord {
  return {
    ...row,
    status: patStatus(row, now),
    allows: row.actions.map(describePatAction),
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    revoked_at: row.revoked_at?.toISOString() ?? '',
    last_used_at: row.last_used_at?.toISOString() ?? '',
  };
}

export async function listPats(ctx: TenantCtx, { of, ...query }: PageQuery & { of: 'caller' | 'everyone' }) {
  if (of === 'everyone' && ctx.tenant.role !== 'tenant_admin') throw fail('forbidden');
  const userId = of === 'everyone' ? 'everyone' : ctx.caller.userId;
  const { rows, total } = await listPatRows(ctx.db, ctx.tenant.id, userId, pageWindow(query));
  const items = rows.map((row) => patRecord(row, ctx.now));
  return toPage(query, items, total);
}

/** The secret is returned once; only its hash is stored. */
export async function createPat(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  // The membership was checked before the transaction: a member removed or deactivated since must not create a token.
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, ctx.caller.userId);
  if (member?.status !== 'active') throw fail('not_found');
  const apps = await resolveApps(ctx, input.apps);
  await lockUserPats(ctx.db, ctx.tenant.id, ctx.caller.userId);
  const active = await countActivePats(ctx.db, ctx.tenant.id, ctx.caller.userId, ctx.now);
  if (active >= patsPerUserMax) {
    throw fail('limit_reached', {
      detail: `You have ${patsPerUserMax} active tokens in this tenant. Revoke one first.`,
    });
  }
  const secret = makePat();
  const days = input.expires_in_days ?? patLifeDaysDefault;
  const row: PatRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    user_id: ctx.caller.userId,
    name: input.name,
    secret_hash: sha256(secret),
    hint: secret.slice(-hintChars),
    actions: input.actions,
    apps,
    created_at: ctx.now,
    expires_at: daysAfter(ctx.now, days),
    revoked_at: null,
    last_used_at: null,
  };
  await insertPatRow(ctx.db, row);
  ctx.audit({
    action: 'pats.create',
    target: { kind: 'pat', id: row.id, name: row.name },
    before: null,
    // Days, not the date: a preview and its execution must have the same fingerprint.
    after: {
      name: row.name,
      actions: row.actions,
      apps,
      expires_in_days: days,
      ...Object.fromEntries(row.actions.map((action) => [`allows.${action}`, describePatAction(action)])),
    },
  });
  return { ...patRecord(row, ctx.now), secret };
}

const hintChars = 4;

/** A member gets 404 for another user's token. */
export async function revokePat(
  ctx: TenantMutationCtx,
  { patId }: { patId: string },
): Promise<PatRecord & { changed?: false }> {
  const row = await lockPatRow(ctx.db, ctx.tenant.id, patId);
  if (!row || (row.user_id !== ctx.caller.userId && ctx.tenant.role !== 'tenant_admin'))
    throw fail('not_found');
  if (row.revoked_at) {
    const target = { kind: 'pat', id: row.id, name: row.name };
    ctx.audit({ action: 'pats.revoke', target, before: {}, after: {} });
    return { ...patRecord(row, ctx.now), changed: false };
  }
  ctx.audit(await revoke(ctx, row));
  return patRecord({ ...row, revoked_at: ctx.now }, ctx.now);
}

/** Returns the audit entry, which the caller writes in its own order. */
async function revoke(ctx: MutationCtx, row: PatRow): Promise<AuditedChange> {
  const { id, name, user_id } = row;
  await markRevoked(ctx.db, row.tenant_id, id, ctx.now);
  ctx.invalidate(credentialTag(row.secret_hash));
  return {
    action: 'pats.revoke',
    target: { kind: 'pat', id, name },
    before: { status: patStatus(row, ctx.now), user_id },
    after: { status: 'revoked', user_id },
  };
}

export async function revokePatsOfMember(
  ctx: MutationCtx,
  { tenantId, userId }: { tenantId: string; userId: string },
): Promise<void> {
  await lockUserPats(ctx.db, tenantId, userId);
  const rows = await lockActivePatRows(ctx.db, { tenantId, of: { userId }, now: ctx.now });
  for (const row of rows) ctx.audit(await revoke(ctx, row));
}

/** A token for the purged app alone is revoked: an empty list would mean every app. Returns entries that the caller audits. */
export async function removeAppFromPats(ctx: MutationCtx, { tenantId, appId }: AppRef) {
  const changes: AuditedChange[] = [];
  for (const row of await lockActivePatRows(ctx.db, { tenantId, of: { appId }, now: ctx.now })) {
    const apps = row.apps.filter((id) => id !== appId);
    changes.push(await (apps.length === 0 ? revoke(ctx, row) : narrow(ctx, row, apps)));
  }
  const revoked = changes.filter(({ action }) => action === 'pats.revoke').length;
  return { revoked, narrowed: changes.length - revoked, changes };
}

async function narrow(ctx: MutationCtx, row: PatRow, apps: string[]): Promise<AuditedChange> {
  await saveApps(ctx.db, row.tenant_id, row.id, apps);
  ctx.invalidate(credentialTag(row.secret_hash));
  const target = { kind: 'pat', id: row.id, name: row.name };
  return { action: 'pats.narrow', target, before: { apps: row.apps }, after: { apps } };
}

async function resolveApps(ctx: TenantCtx, refs: readonly string[]): Promise<string[]> {
  const ids = new Set<string>();
  const unknown: string[] = [];
  for (const ref of new Set(refs)) {
    const app = await findApp(ctx.db, ctx.tenant, { ref, caller: ctx.caller });
    if (app) ids.add(app.id);
    else unknown.push(ref);
  }
  if (unknown.length === 0) return [...ids];
  throw fail('validation_failed', {
    detail: `apps: no such app: ${unknown.join(', ')}`,
    errors: unknown.map((ref) => ({ field: 'apps', code: 'unknown_app', detail: `no such app: ${ref}` })),
  });
}
