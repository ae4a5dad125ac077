import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { patientMs } from '../../../scripts/patience.ts';
import { codeOf, newTenant, silentLog, testCaller, testDatabase, useTestDatabase } from '../testing.ts';
import { findAuditBreaks } from './audit-verify.ts';
import type { MutationCtx, TenantAccess } from './context.ts';
import type { StoredResponse } from './idempotency.ts';
import { type MutationBase, type MutationRequest, runMutation } from './mutation.ts';
import { createOutbox, type Outbox, rowsOnlyOutbox } from './outbox-worker.ts';
import { Failure } from './problem.ts';

const database = useTestDatabase();
const handledEffects: Record<string, unknown>[] = [];
let outbox: Outbox;

beforeAll(async () => {
  outbox = createOutbox({
    url: database.url,
    db: database.db,
    log: silentLog,
    effects: {
      'audit.anchor': async () => {},
      'test.effect': async (payload) => void handledEffects.push(payload),
    },
    jobs: [],
  });
  await outbox.start();
});
afterAll(() => outbox.stop());

const ok: StoredResponse = { status: 201, headers: {}, body: '{"made":true}' };
const newKey = () => ({ callerId: 'u', key: Bun.randomUUIDv7(), requestHash: 'h' });

function run(
  tenant: TenantAccess,
  useCase: (ctx: MutationCtx) => Promise<StoredResponse>,
  request: Partial<MutationRequest> = {},
  base: Partial<MutationBase> = {},
) {
  return runMutation(
    {
      db: database.db,
      outbox,
      events: [],
      caller: testCaller(),
      requestId: 'req-00000001',
      log: silentLog,
      ...base,
    },
    {
      mode: 'execute',
      operation: { id: 'test.rename', irreversible: false },
      auditTenantId: tenant.id,
      useCase,
      ...request,
    },
  );
}

/** A small real change. */
function renaming(tenantId: string, name: string) {
  return async (ctx: MutationCtx) => {
    const { rows } = await sql<{ name: string }>`
      select name from svc.tenants where id = ${tenantId} for update`.execute(ctx.db);
    await sql`update svc.tenants set name = ${name} where id = ${tenantId}`.execute(ctx.db);
    ctx.audit({
      action: 'tenants.rename',
      target: { kind: 'tenant', id: tenantId, name },
      before: { name: rows[0]!.name },
      after: { name },
    });
    return ok;
  };
}

const rename = (tenant: TenantAccess, name: string, request?: Partial<MutationRequest>) =>
  run(tenant, renaming(tenant.id, name), request);

async function tenantName(tenantId: string): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from svc.tenants where id = ${tenantId}`.execute(
    database.db,
  );
  return rows[0]!.name;
}

describe('preview', () => {
  test('shows the change and leaves no row, audit entry or effect', async () => {
    const { tenant } = await newTenant(database.db);
    const before = await dump();
    const result = await run(
      tenant,
      async (ctx) => {
        ctx.enqueue('test.effect', { from: 'preview' });
        return renaming(tenant.id, 'new')(ctx);
      },
      { mode: 'preview', idempotency: newKey() },
    );
    expect(result).toMatchObject({
      kind: 'previewed',
      plan: { changes: [{ path: 'name', after: 'new', effect: 'update' }] },
    });
    expect(await dump()).toBe(before);
  });

  test('has a fingerprint that admits the same change and refuses another', async () => {
    const { tenant } = await newTenant(database.db);
    const preview = async () => {
      const result = await rename(tenant, 'new', { mode: 'preview' });
      return result.kind === 'previewed' ? result.plan.fingerprint : '';
    };
    const stale = await preview();
    await rename(tenant, 'meanwhile');
    expect(await codeOf(rename(tenant, 'new', { ifPlan: stale }))).toBe('plan_stale');
    expect(await tenantName(tenant.id)).toBe('meanwhile');
    await rename(tenant, 'new', { ifPlan: await preview() });
    expect(await tenantName(tenant.id)).toBe('new');
  });
});

describe('idempotency', () => {
  test('a repeated request with the same key replays the response without running again', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = newKey();
    let runs = 0;
    const useCase = async () => ({ ...ok, body: `{"run":${++runs}}` });
    const first = await run(tenant, useCase, { idempotency });
    const second = await run(tenant, useCase, { idempotency });
    expect(second).toEqual(first);
    expect(runs).toBe(1);
  });

  test('reuse of a key for another request is a mismatch; another caller has other keys', async () => {
    const { tenant } = await newTenant(database.db);
    const key = Bun.randomUUIDv7();
    const request = (callerId: string, requestHash: string) =>
      codeOf(run(tenant, async () => ok, { idempotency: { callerId, key, requestHash } }));
    expect(await request('u', 'h')).toBe('done');
    expect(await request('u', 'other')).toBe('idempotency_mismatch');
    expect(await request('someone-else', 'other')).toBe('done');
  });

  test('of twenty concurrent requests with one key, one runs', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = newKey();
    let runs = 0;
    const useCase = (ctx: MutationCtx) => renaming(tenant.id, `n${++runs}`)(ctx);
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(run(tenant, useCase, { idempotency }))),
    );
    expect(runs).toBe(1);
    expect(codes.filter((code) => code !== 'done' && code !== 'idempotency_in_progress')).toEqual([]);
  });

  test('a failed request stores nothing, so its key can be used again', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = newKey();
    const failing = async () => Promise.reject(new Failure('forbidden', {}));
    expect(await codeOf(run(tenant, failing, { idempotency }))).toBe('forbidden');
    expect(await codeOf(run(tenant, async () => ok, { idempotency }))).toBe('done');
  });

  test('a stored response cannot be read from the table', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = newKey();
    const secret = 'shown-once-and-never-again';
    await run(tenant, async () => ({ ...ok, body: secret }), { idempotency });
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(encode(answer, 'escape') || key_hash, ''), '') as text from svc.idempotency_keys`.execute(
      database.db,
    );
    expect(rows[0]!.text).not.toContain(secret);
    expect(rows[0]!.text).not.toContain(idempotency.key);
  });
});

describe('effects', () => {
  test('an effect runs after the commit, and not after a failure', async () => {
    const { tenant } = await newTenant(database.db);
    const failed = run(tenant, async (ctx) => {
      ctx.enqueue('test.effect', { tenant: tenant.id, from: 'failed' });
      throw new Failure('forbidden', {});
    });
    expect(await codeOf(failed)).toBe('forbidden');
    await run(tenant, async (ctx) => {
      ctx.enqueue('test.effect', { tenant: tenant.id, from: 'done' });
      return ok;
    });
    const mine = () => handledEffects.filter((payload) => payload.tenant === tenant.id);
    for (const deadline = Date.now() + patientMs(5_000); mine().length === 0 && Date.now() < deadline; )
      await Bun.sleep(5);
    expect(mine()).toEqual([{ tenant: tenant.id, from: 'done' }]);
  });

  test('an effect of rowsOnlyOutbox runs when the next server starts', async () => {
    const own = await testDatabase();
    const { tenant } = await newTenant(own.db);
    const useCase = async (ctx: MutationCtx) => {
      ctx.enqueue('test.late', { tenant: tenant.id });
      return ok;
    };
    await run(tenant, useCase, {}, { db: own.db, outbox: rowsOnlyOutbox });
    const late: unknown[] = [];
    const next = createOutbox({
      url: own.url,
      db: own.db,
      log: silentLog,
      effects: { 'audit.anchor': async () => {}, 'test.late': async (payload) => void late.push(payload) },
      jobs: [],
    });
    await next.start();
    for (const deadline = Date.now() + patientMs(5_000); late.length === 0 && Date.now() < deadline; )
      await Bun.sleep(5);
    await next.stop();
    await own.close();
    expect(late).toEqual([{ tenant: tenant.id }]);
  });
});

describe('the audit chain', () => {
  test('stays valid under concurrent changes', async () => {
    const { tenant } = await newTenant(database.db);
    await Promise.all(Array.from({ length: 40 }, (_, i) => rename(tenant, `n${i}`)));
    expect(await chainBreaks(tenant.id)).toEqual([]);
    const { rows } = await sql<{ n: number }>`
      select count(*) n from svc.audit_entries where tenant_id = ${tenant.id}`.execute(database.db);
    expect(rows[0]!.n).toBe(40);
  });

  test('refuses edits while its trigger is enabled', async () => {
    const { tenant } = await newTenant(database.db);
    await rename(tenant, 'a');
    const edit = sql`update svc.audit_entries set actor_name = 'x' where tenant_id = ${tenant.id}`.execute(
      database.db,
    );
    expect(edit).rejects.toThrow('append-only');
  });

  const columns = [
    'at',
    'actor_kind',
    'actor_id',
    'actor_name',
    'action',
    'target_kind',
    'target_id',
    'target_name',
  ];
  const edits: Record<string, string> = {
    ...Object.fromEntries(
      columns.map((column) => [
        `an edit of ${column}`,
        `update svc.audit_entries set ${column} = ${column === 'at' ? "at + interval '1 ms'" : `${column} || 'x'`} where tenant_id = $1 and seq = 3`,
      ]),
    ),
    'an edit of changes': `update svc.audit_entries set changes = '[]' where tenant_id = $1 and seq = 3`,
    'an edit of the request id': `update svc.audit_entries set request_id = 'x' where tenant_id = $1 and seq = 3`,
    'an edit of a hash': `update svc.audit_entries set hash = repeat('0', 64) where tenant_id = $1 and seq = 3`,
    'a deleted entry in the middle': 'delete from svc.audit_entries where tenant_id = $1 and seq = 3',
    'a deleted first entry': 'delete from svc.audit_entries where tenant_id = $1 and seq = 1',
    'a deleted last entry': 'delete from svc.audit_entries where tenant_id = $1 and seq = 5',
    'all entries deleted': 'delete from svc.audit_entries where tenant_id = $1',
    'two entries swapped': `update svc.audit_entries set seq = case seq when 2 then 103 when 3 then 102 end where tenant_id = $1 and seq in (2, 3);
       update svc.audit_entries set seq = seq - 100 where tenant_id = $1 and seq > 100`,
  };
  for (const [name, statement] of Object.entries(edits)) {
    test(`${name} is detected`, async () => {
      const { tenant } = await newTenant(database.db);
      for (let i = 0; i < 5; i++) await rename(tenant, `n${i}`);
      expect(await chainBreaks(tenant.id)).toEqual([]);
      await tamper(statement.replaceAll('$1', `'${tenant.id}'`));
      expect(await chainBreaks(tenant.id)).not.toEqual([]);
    });
  }

  test('a chain rebuilt with its head differs from its anchor', async () => {
    const { tenant } = await newTenant(database.db);
    for (let i = 0; i < 3; i++) await rename(tenant, `n${i}`);
    const { rows } = await sql<{ seq: number; hash: string }>`
      select seq, hash from svc.audit_heads where tenant_id = ${tenant.id}`.execute(database.db);
    const anchor = { tenantId: tenant.id, ...rows[0]! };
    await tamper(`delete from svc.audit_entries where tenant_id = '${tenant.id}';
      delete from svc.audit_heads where tenant_id = '${tenant.id}'`);
    for (let i = 0; i < 3; i++) await rename(tenant, `m${i}`);
    expect(await chainBreaks(tenant.id)).toEqual([]);
    expect(await findAuditBreaks(database.db, [anchor])).toContainEqual(expect.stringContaining('anchor'));
  });
});

async function chainBreaks(tenantId: string): Promise<string[]> {
  return (await findAuditBreaks(database.db)).filter((text) => text.includes(tenantId));
}

/** Edits as an owner of the tables could: with the trigger disabled. */
async function tamper(statements: string): Promise<void> {
  await sql`alter table svc.audit_entries disable trigger audit_append_only`.execute(database.db);
  for (const statement of statements.split(';')) await sql.raw(statement).execute(database.db);
  await sql`alter table svc.audit_entries enable trigger audit_append_only`.execute(database.db);
}

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const { rows } = await sql<{ name: string }>`select schemaname || '.' || tablename as name from pg_tables
    where schemaname = 'svc' order by 1`.execute(database.db);
  const dumps = await Promise.all(
    rows.map(async ({ name }) => {
      const table = await sql<{ text: string }>`
        select coalesce(string_agg(t::text, '\n' order by t::text), '') as text from ${sql.raw(name)} t`.execute(
        database.db,
      );
      return `${name}\n${table.rows[0]!.text}`;
    }),
  );
  return dumps.join('\n');
}

test('onCommitted is called with each tag after the commit and not before', async () => {
  const { tenant } = await newTenant(database.db);
  const tags: string[] = [];
  const change = (mode: 'preview' | 'execute', tag: string, fails = false) =>
    run(
      tenant,
      async (ctx) => {
        ctx.invalidate(tag);
        expect(tags).toEqual([]);
        if (fails) throw new Error('failed');
        return ok;
      },
      { mode },
      { onCommitted: (committed) => tags.push(committed) },
    );
  await change('preview', 'previewed');
  await change('execute', 'failed', true).catch(() => {});
  expect(tags).toEqual([]);
  await change('execute', 'done');
  expect(tags).toEqual(['done']);
});
