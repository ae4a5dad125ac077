import type { createPat as shape } from '@svc/contract/identity.shapes.ts';
import { patLifeDaysDefault, patsPerUserMax } from '@svc/contract/identity.ts';
import type { z } from 'zod';
import { makePat } from '../identity/pat-format.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { holdMember } from '../tenants/find-member.ts';
import { resolveApps } from './resolve-apps.ts';
import { endOfLife, patRecord } from './rules.ts';
import { countActivePats, insertPatRow, lockPatsOf, type PatRow } from './store.ts';

/** The secret is in this answer and nowhere else: only its hash is kept. */
export async function createPat(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  // The membership was seen before this began; one who has been removed since makes no token to come back with.
  if (!(await holdMember(ctx.db, ctx.tenant.id, ctx.caller.userId))) throw fail('not_found');
  const apps = await resolveApps(ctx, input.apps);
  await lockPatsOf(ctx.db, ctx.tenant.id, ctx.caller.userId);
  const active = await countActivePats(ctx.db, ctx.tenant.id, ctx.caller.userId, ctx.now);
  if (active >= patsPerUserMax) {
    throw fail('limit_reached', {
      detail: `You have ${patsPerUserMax} active tokens in this tenant; revoke one.`,
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
    expires_at: endOfLife(ctx.now, days),
    revoked_at: null,
    last_used_at: null,
  };
  await insertPatRow(ctx.db, row);
  ctx.audit({
    action: 'pats.create',
    target: { kind: 'pat', id: row.id, name: row.name },
    before: null,
    // Days, not the date: a preview and the execution after it must tell the same.
    after: { name: row.name, actions: row.actions, apps, expires_in_days: days },
  });
  return { ...patRecord(row, ctx.now), secret };
}

const hintChars = 4;
