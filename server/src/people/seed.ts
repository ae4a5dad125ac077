import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { appendAudit } from '../core/audit.ts';
import { type AuditedChange, type MutationCtx, platformTenantId } from '../core/context.ts';
import type { Db } from '../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../core/mutation.ts';
import { findPlatformValue, storePlatformValue } from '../core/platform-values.ts';
import { setMember } from './tenants/members.ts';
import { createTenant, hasTenants } from './tenants/tenants.ts';
import { createUser, findUser, loadPasswordRules } from './users/users.ts';

export interface SeedResult {
  tenant: string;
  email: string;
  /** Null when the user existed before: the password is not changed. */
  password: string | null;
}

const slug = 'demo';
const email = 'admin@demo.localhost';
const keyName = 'seeded_admin';

const lockRetryMs = 100;

/** Creates a first tenant and admin when there are no tenants. Safe when several servers start at once. */
export async function seed(deps: OperatorDeps): Promise<SeedResult | null> {
  if (await hasTenants(deps.db)) return null;
  await loadPasswordRules();
  for (;;) {
    const seeded = await trySeed(deps);
    if (seeded !== 'locked') return seeded;
    // A statement that waits for another server would reach the limit of locks on a busy machine.
    await Bun.sleep(lockRetryMs);
  }
}

function trySeed(deps: OperatorDeps): Promise<SeedResult | null | 'locked'> {
  return runAsOperator(deps, { name: 'seed', auditTenantId: platformTenantId }, async (ctx) => {
    const { rows } = await sql<{ held: boolean }>`
      select pg_try_advisory_xact_lock(hashtextextended('svc seed', 0)) as held`.execute(ctx.db);
    if (!rows[0]?.held) return 'locked';
    if (await hasTenants(ctx.db)) return null;
    const password = randomBytes(12).toString('base64url');
    const tenant = await createTenant(ctx, { slug, name: 'Demo' });
    const existing = await findUser(ctx, { ref: email });
    const user = existing ?? (await createUser(ctx, { email, name: 'Demo admin', password }));
    await auditInTenant(ctx, tenant.id, (tenantCtx) =>
      setMember(tenantCtx, { tenantId: tenant.id, userId: user.id, role: 'tenant_admin' }),
    );
    await storePlatformValue(ctx.db, keyName, user.id);
    return { tenant: slug, email, password: existing ? null : password };
  });
}

async function auditInTenant(
  ctx: MutationCtx,
  tenantId: string,
  work: (ctx: MutationCtx) => Promise<unknown>,
): Promise<void> {
  const changes: AuditedChange[] = [];
  await work({ ...ctx, audit: (change) => void changes.push(change) });
  const { kind, userId: id, email: name } = ctx.caller;
  const origin = { tenantId, at: ctx.now, actor: { kind, id, name }, requestId: ctx.requestId };
  const head = await appendAudit(ctx.db, origin, changes);
  if (head) ctx.enqueue('audit.anchor', { ...head });
}

export function findSeededAdmin(db: Db): Promise<string | null> {
  return findPlatformValue(db, keyName);
}
