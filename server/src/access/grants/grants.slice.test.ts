import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { TenantMutationCtx } from '../../core/context.ts';
import {
  codeOf,
  newTenant,
  type TestTenant,
  testMutation,
  untilBlocked,
  useTestDatabase,
} from '../../testing.ts';
import { createConnector, deleteConnector } from '../connectors/connectors.ts';

import { createPolicy, deletePolicy } from '../policies/policies.ts';
import { expireGrants, revokeGrant } from './end-grants.ts';
import { createGrant, getMyGrantTerms, listGrants, listMyGrants, replaceGrantScope } from './grants.ts';

import { findGrantRow } from './store.ts';

const database = useTestDatabase();

const noApps = { findOwnedAppId: async () => null };

async function change<T>(t: TestTenant, useCase: (ctx: TenantMutationCtx) => Promise<T>): Promise<T> {
  return (
    await testMutation<T, { tenant: TestTenant['tenant'] }>(database.db, t.admin, useCase, {
      context: t.context,
    })
  ).value;
}

async function newConnector(t: TestTenant): Promise<string> {
  const name = `c ${Bun.randomUUIDv7().slice(-12)}`;
  return (
    await change(t, (ctx) =>
      createConnector(ctx, { name, kind: 'http', description: '', writable: false }, noApps),
    )
  ).id;
}

const grantInput = { subject_kind: 'user', preset_id: 'reader', reason: '', source: 'manual' } as const;

async function grantTo(
  t: TestTenant,
  fields: { policyIds?: string[]; expiresAt?: string; connector?: string } = {},
) {
  const connector_id = fields.connector ?? (await newConnector(t));
  return change(t, (ctx) =>
    createGrant(ctx, {
      ...grantInput,
      subject_id: t.member.userId,
      connector_id,
      policy_ids: fields.policyIds ?? [],
      scope_resource_paths: [],
      expires_at: fields.expiresAt ?? '',
    }),
  );
}

/** In one transaction. */
const newPolicies = (t: TestTenant, count: number): Promise<string[]> =>
  change(t, async (ctx) => {
    const ids: string[] = [];
    for (let made = 0; made < count; made++) {
      const policy = await createPolicy(ctx, {
        name: `p ${Bun.randomUUIDv7()}`,
        description: '',
        connector_id: '',
        resource_path: '',
        actions: ['read'],
        row_filter: '',
        columns: { mode: 'all', names: [] },
        masks: [],
        enabled: true,
        enforced: false,
      });
      ids.push(policy.id);
    }
    return ids;
  });

const membersContext = (t: TestTenant) => ({
  db: database.db,
  now: new Date(),
  requestId: 'test',
  log: undefined as never,
  caller: t.member,
  tenant: t.tenant,
});
const mine = (t: TestTenant) => listMyGrants(membersContext(t));

describe('grants', () => {
  test('a grant has the 18 fields of the spec in their order, all strings or arrays of strings', async () => {
    const t = await newTenant(database.db);
    await grantTo(t);
    const [grant] = await mine(t);
    expect(Object.keys(grant!)).toEqual(
      `id tenant_id subject_id subject_kind connector_id preset_id policy_ids scope_resource_paths status reason source
       granted_by granted_at expires_at revoked_by revoked_at created_at updated_at`.split(/\s+/),
    );
    for (const value of Object.values(grant!))
      expect(Array.isArray(value) || typeof value === 'string').toBe(true);
    expect(grant!.expires_at).toBe('');
    expect(grant!.granted_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test("a member's own grants come newest first, equal times by id", async () => {
    const t = await newTenant(database.db);
    const connector = await newConnector(t);
    const made = [];
    for (let i = 0; i < 4; i++) made.push((await grantTo(t, { connector })).id);
    await sql`update svc.grants set granted_at = '2026-01-01T00:00:00Z' where tenant_id = ${t.tenant.id} and id <> ${made[1]!}`.execute(
      database.db,
    );
    expect((await mine(t)).map((grant) => grant.id)).toEqual([made[1]!, made[3]!, made[2]!, made[0]!]);
  });

  test('grants are listed by policy', async () => {
    const t = await newTenant(database.db);
    const [policy, other] = (await newPolicies(t, 2)) as [string, string];
    const grant = await grantTo(t, { policyIds: [other, policy] });
    await grantTo(t, { policyIds: [other] });
    const found = await listGrants(membersContext(t), { page: 1, per_page: 50, policy_id: policy });
    expect([found.total, found.items.map(({ id }) => id)]).toEqual([1, [grant.id]]);
  });

  test('a member sees the connectors and presets of their active grants only', async () => {
    const t = await newTenant(database.db);
    const [held, ended] = [await newConnector(t), await newConnector(t)];
    await newConnector(t);
    await grantTo(t, { connector: held });
    const over = await grantTo(t, { connector: ended });
    await change(t, (ctx) => revokeGrant(ctx, { grantId: over.id, reason: '' }));
    const terms = await getMyGrantTerms(membersContext(t));
    expect(terms.connectors.map(({ id }) => id)).toEqual([held]);
    expect(terms.presets).toEqual([
      { id: 'reader', name: 'reader', actions: ['read'], description: 'May read rows.' },
    ]);
  });

  test("another tenant's grants cannot be read, changed or revoked", async () => {
    const [one, other] = [await newTenant(database.db), await newTenant(database.db)];
    const grant = await grantTo(one);
    expect(
      await codeOf(change(other, (ctx) => replaceGrantScope(ctx, { grantId: grant.id, scope: [] }))),
    ).toBe('not_found');
    expect(await codeOf(change(other, (ctx) => revokeGrant(ctx, { grantId: grant.id, reason: '' })))).toBe(
      'not_found',
    );
    expect(await findGrantRow(database.db, other.tenant.id, grant.id)).toBeUndefined();
  });

  test('a grant that expires at this very instant is expired for reads and refuses a new scope', async () => {
    const t = await newTenant(database.db);
    const grant = await grantTo(t, { expiresAt: new Date(Date.now() + 3600_000).toISOString() });
    await sql`update svc.grants set expires_at = clock_timestamp() where id = ${grant.id}`.execute(
      database.db,
    );
    expect(await mine(t)).toEqual([]);
    expect((await findGrantRow(database.db, t.tenant.id, grant.id))?.status).toBe('expired');
    expect(
      await codeOf(change(t, (ctx) => replaceGrantScope(ctx, { grantId: grant.id, scope: ['a'] }))),
    ).toBe('grant_not_active');
    expect(await codeOf(change(t, (ctx) => revokeGrant(ctx, { grantId: grant.id, reason: '' })))).toBe(
      'grant_not_active',
    );
  });

  test('a grant that expires while a change waits for its lock refuses that change', async () => {
    const t = await newTenant(database.db);
    const grant = await grantTo(t, { expiresAt: new Date(Date.now() + 3600_000).toISOString() });
    const holder = await database.db.startTransaction().execute();
    await sql`select 1 from svc.grants where id = ${grant.id} for update`.execute(holder);
    const waiting = codeOf(change(t, (ctx) => replaceGrantScope(ctx, { grantId: grant.id, scope: ['a'] })));
    await untilBlocked(database.db);
    await sql`update svc.grants set expires_at = clock_timestamp() where id = ${grant.id}`.execute(holder);
    await holder.commit().execute();
    expect(await waiting).toBe('grant_not_active');
  });

  test('the job records expiry once, with an audit entry', async () => {
    const t = await newTenant(database.db);
    const grant = await grantTo(t, { expiresAt: new Date(Date.now() + 3600_000).toISOString() });
    await sql`update svc.grants set expires_at = now() where id = ${grant.id}`.execute(database.db);
    const sweep = () => change(t, (ctx) => expireGrants(ctx, { tenantId: t.tenant.id }));
    expect([await sweep(), await sweep()]).toEqual([1, 0]);
    const stored = await sql<{
      status: string;
    }>`select status from svc.grants where id = ${grant.id}`.execute(database.db);
    expect(stored.rows[0]?.status).toBe('expired');
    const audited = await sql<{ n: number }>`select count(*) n from svc.audit_entries
      where tenant_id = ${t.tenant.id} and action = 'grants.expire'`.execute(database.db);
    expect(audited.rows[0]?.n).toBe(1);
  });

  test('a second revoke reports that nothing changed', async () => {
    const t = await newTenant(database.db);
    const grant = await grantTo(t);
    const revoke = () => change(t, (ctx) => revokeGrant(ctx, { grantId: grant.id, reason: 'left' }));
    const [first, second] = [await revoke(), await revoke()];
    expect(Object.keys(first)).not.toContain('changed');
    expect(second).toMatchObject({ changed: false });
    expect(second.revoked_at).toBe(first.revoked_at);
  });
});

describe('races', () => {
  test('of scope replacements and a revoke, none changes the scope after the revoke', async () => {
    const t = await newTenant(database.db);
    for (let round = 0; round < 15; round++) {
      const grant = await grantTo(t);
      const scopes = Array.from({ length: 5 }, (_, i) =>
        codeOf(change(t, (ctx) => replaceGrantScope(ctx, { grantId: grant.id, scope: [`s${i}`] }))),
      );
      const revoked = codeOf(change(t, (ctx) => revokeGrant(ctx, { grantId: grant.id, reason: '' })));
      const codes = await Promise.all(scopes);
      expect(await revoked).toBe('done');
      expect(codes.every((code) => code === 'done' || code === 'grant_not_active')).toBe(true);
      const entries = await sql<{ action: string }>`select action from svc.audit_entries
        where tenant_id = ${t.tenant.id} and target_id = ${grant.id} order by seq`.execute(database.db);
      expect(entries.rows.at(-1)?.action).toBe('grants.revoke');
    }
  });

  test('500 policy deletes against 500 new grants leave no active grant with a deleted policy', async () => {
    const t = await newTenant(database.db);
    const connector = await newConnector(t);
    for (let round = 0; round < 50; round++) {
      const policies = await newPolicies(t, 10);
      // The order of the race is random; one grant is created before it, so that some deletions are refused.
      const [head] = policies;
      if (head) await grantTo(t, { policyIds: [head], connector });
      await Promise.all(
        policies.flatMap((policyId) => [
          codeOf(grantTo(t, { policyIds: [policyId], connector })),
          codeOf(change(t, (ctx) => deletePolicy(ctx, { policyId, ifMatch: undefined }))),
        ]),
      );
    }
    const orphans = await sql<{ n: number }>`
      select count(*) n from svc.grants g, unnest(g.policy_ids) p
      where g.tenant_id = ${t.tenant.id} and g.status = 'active'
        and not exists (select 1 from svc.access_policies a where a.id::text = p)`.execute(database.db);
    expect(orphans.rows[0]?.n).toBe(0);
    const used = await sql<{
      n: number;
    }>`select count(*) n from svc.grants where tenant_id = ${t.tenant.id}`.execute(database.db);
    expect(used.rows[0]!.n).toBeGreaterThan(0);
  });

  test('a connector is not deleted while a grant is created for it', async () => {
    const t = await newTenant(database.db);
    for (let round = 0; round < 15; round++) {
      const connector = await newConnector(t);
      const [granted, deleted] = await Promise.all([
        codeOf(grantTo(t, { connector })),
        codeOf(change(t, (ctx) => deleteConnector(ctx, { connector }))),
      ]);
      expect([granted, deleted].sort()).toEqual(
        granted === 'done' ? ['connector_in_use', 'done'] : ['done', 'validation_failed'],
      );
    }
  });
});
