import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { appendAudit } from './plumbing/audit.ts';
import { type AuditedChange, type MutationCtx, platformTenantId } from './plumbing/context.ts';
import type { Db } from './plumbing/db.ts';
import { asOperator, type OperatorParts } from './plumbing/operator.ts';
import { createTenant } from './tenants/create-tenant.ts';
import { setMember } from './tenants/set-member.ts';
import { createUser } from './users/create-user.ts';
import { findUser } from './users/find-user.ts';

export interface Seeded {
  tenant: string;
  email: string;
  /** Null for a user who was there before, whose password is not touched. */
  password: string | null;
}

const slug = 'demo';
const email = 'admin@demo.localhost';
const keyName = 'seeded_admin';

/** The first start of a system with no tenants: something to log in to. Copies that start at once make one. */
export async function seed(parts: OperatorParts): Promise<Seeded | null> {
  if (await hasTenants(parts.db)) return null;
  return asOperator(parts, { name: 'seed', auditTenantId: platformTenantId }, async (ctx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('svc seed', 0))`.execute(ctx.db);
    if (await hasTenants(ctx.db)) return null;
    const password = randomBytes(12).toString('base64url');
    const tenant = await createTenant(ctx, { slug, name: 'Demo' });
    const known = await findUser(ctx, { ref: email });
    const user = known ?? (await createUser(ctx, { email, name: 'Demo admin', password }));
    await inChainOf(ctx, tenant.id, (ofTenant) =>
      setMember(ofTenant, { tenantId: tenant.id, userId: user.id, role: 'tenant_admin' }),
    );
    await sql`insert into svc.platform_keys (name, value) values (${keyName}, ${user.id})
      on conflict (name) do update set value = excluded.value`.execute(ctx.db);
    return { tenant: slug, email, password: known ? null : password };
  });
}

/** A part of a change of the platform that belongs into the tenant's own record. */
async function inChainOf(
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

/** Whom `svc login --local` signs in. */
export async function seededAdmin(db: Db): Promise<string | null> {
  const { rows } = await sql<{
    value: string;
  }>`select value from svc.platform_keys where name = ${keyName}`.execute(db);
  return rows[0]?.value ?? null;
}

async function hasTenants(db: Db): Promise<boolean> {
  const { rows } = await sql`select 1 from svc.tenants limit 1`.execute(db);
  return rows.length > 0;
}
