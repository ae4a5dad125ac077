import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf, newTenant, silentLog, type TestDatabase, testDatabase } from '../testing.ts';
import { findAuditBreaks } from './audit.ts';
import type { MutationCtx } from './context.ts';
import type { StoredAnswer } from './idempotency.ts';
import { type MutationRequest, runMutation } from './mutation.ts';
import { createOutbox } from './outbox.ts';
import { type Outbox, rowsOnly } from './outbox-rows.ts';
import { Failure } from './problem.ts';

let database: TestDatabase;
let outbox: Outbox;
const carriedOut: Record<string, unknown>[] = [];

beforeAll(async () => {
  database = await testDatabase();
  outbox = createOutbox({
    url: database.url,
    db: database.db,
    log: silentLog,
    effects: {
      'audit.anchor': async () => {},
      'test.effect': async (payload) => void carriedOut.push(payload),
    },
    sweeps: [],
  });
  await outbox.start();
});
afterAll(async () => {
  await outbox.stop();
  await database.close();
});

const ok: StoredAnswer = { status: 201, headers: {}, body: '{"made":true}' };

async function run(
  verb: (ctx: MutationCtx) => Promise<StoredAnswer>,
  request: Partial<MutationRequest> & { auditTenantId: string },
) {
  return runMutation(
    { db: database.db, outbox, caller: caller(), requestId: 'req-00000001', log: silentLog },
    { mode: 'execute', operation: { id: 'test.rename', irreversible: false }, verb, ...request },
  );
}

const caller = () => ({
  kind: 'login' as const,
  userId: 'u',
  email: 'u@example.test',
  name: 'U',
  credentialId: '',
  expiresAt: new Date(),
});

/** Renames the tenant: a small real change. */
function renameTo(name: string, tenantId: string) {
  return async (ctx: MutationCtx) => {
    const { rows } = await sql<{
      name: string;
    }>`select name from svc.tenants where id = ${tenantId} for update`.execute(ctx.db);
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

async function nameOf(tenantId: string): Promise<string> {
  const { rows } = await sql<{ name: string }>`select name from svc.tenants where id = ${tenantId}`.execute(
    database.db,
  );
  return rows[0]!.name;
}

describe('preview', () => {
  test('shows the change and leaves nothing behind: no row, no audit entry, no effect', async () => {
    const { tenant } = await newTenant(database.db);
    const before = await dump();
    const result = await run(
      async (ctx) => {
        ctx.enqueue('test.effect', { from: 'preview' });
        return renameTo('new', tenant.id)(ctx);
      },
      {
        auditTenantId: tenant.id,
        mode: 'preview',
        idempotency: { callerId: 'u', key: 'k', requestHash: 'h' },
      },
    );
    expect(result).toMatchObject({
      kind: 'previewed',
      plan: { changes: [{ path: 'name', after: 'new', effect: 'update' }] },
    });
    expect(await dump()).toBe(before);
  });

  test('its fingerprint lets the same change through and stops another', async () => {
    const { tenant } = await newTenant(database.db);
    const preview = await run(renameTo('new', tenant.id), { auditTenantId: tenant.id, mode: 'preview' });
    if (preview.kind !== 'previewed') throw new Error('not previewed');
    const ifPlan = preview.plan.fingerprint;
    await run(renameTo('meanwhile', tenant.id), { auditTenantId: tenant.id });
    expect(await codeOf(run(renameTo('new', tenant.id), { auditTenantId: tenant.id, ifPlan }))).toBe(
      'plan_stale',
    );
    expect(await nameOf(tenant.id)).toBe('meanwhile');
    const again = await run(renameTo('new', tenant.id), { auditTenantId: tenant.id, mode: 'preview' });
    if (again.kind !== 'previewed') throw new Error('not previewed');
    await run(renameTo('new', tenant.id), { auditTenantId: tenant.id, ifPlan: again.plan.fingerprint });
    expect(await nameOf(tenant.id)).toBe('new');
  });
});

describe('idempotency', () => {
  test('the same key and request replays the answer without doing it again', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = { callerId: 'u', key: Bun.randomUUIDv7(), requestHash: 'h' };
    let runs = 0;
    const verb = async () => ({ ...ok, body: `{"run":${++runs}}` });
    const first = await run(verb, { auditTenantId: tenant.id, idempotency });
    const second = await run(verb, { auditTenantId: tenant.id, idempotency });
    expect(second).toEqual(first);
    expect(runs).toBe(1);
  });

  test('the same key with another request is a mismatch, for another caller it is another key', async () => {
    const { tenant } = await newTenant(database.db);
    const key = Bun.randomUUIDv7();
    const request = (callerId: string, requestHash: string) =>
      codeOf(run(async () => ok, { auditTenantId: tenant.id, idempotency: { callerId, key, requestHash } }));
    expect(await request('u', 'h')).toBe('done');
    expect(await request('u', 'other')).toBe('idempotency_mismatch');
    expect(await request('someone-else', 'other')).toBe('done');
  });

  test('of twenty at once with one key, one runs; the others are told or get its answer', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = { callerId: 'u', key: Bun.randomUUIDv7(), requestHash: 'h' };
    let runs = 0;
    const codes = await Promise.all(
      Array.from({ length: 20 }, () =>
        codeOf(
          run(
            async (ctx) => {
              runs++;
              return renameTo(`n${runs}`, tenant.id)(ctx);
            },
            { auditTenantId: tenant.id, idempotency },
          ),
        ),
      ),
    );
    expect(runs).toBe(1);
    expect(codes.filter((code) => code !== 'done' && code !== 'idempotency_in_progress')).toEqual([]);
  });

  test('a failed request keeps nothing: the key can be used again', async () => {
    const { tenant } = await newTenant(database.db);
    const idempotency = { callerId: 'u', key: Bun.randomUUIDv7(), requestHash: 'h' };
    const failing = async () => Promise.reject(new Failure('forbidden', {}));
    expect(await codeOf(run(failing, { auditTenantId: tenant.id, idempotency }))).toBe('forbidden');
    expect(await codeOf(run(async () => ok, { auditTenantId: tenant.id, idempotency }))).toBe('done');
  });

  test('a kept answer can not be read from the table', async () => {
    const { tenant } = await newTenant(database.db);
    const key = Bun.randomUUIDv7();
    const secret = 'shown-once-and-never-again';
    await run(async () => ({ ...ok, body: secret }), {
      auditTenantId: tenant.id,
      idempotency: { callerId: 'u', key, requestHash: 'h' },
    });
    const { rows } = await sql<{ text: string }>`
      select coalesce(string_agg(encode(answer, 'escape') || key_hash, ''), '') as text from svc.idempotency_keys`.execute(
      database.db,
    );
    expect(rows[0]!.text).not.toContain(secret);
    expect(rows[0]!.text).not.toContain(key);
  });
});

describe('effects', () => {
  test('an effect is carried out after the commit, and not at all after a failure', async () => {
    const { tenant } = await newTenant(database.db);
    const failed = run(
      async (ctx) => {
        ctx.enqueue('test.effect', { tenant: tenant.id, from: 'failed' });
        throw new Failure('forbidden', {});
      },
      { auditTenantId: tenant.id },
    );
    expect(await codeOf(failed)).toBe('forbidden');
    await run(
      async (ctx) => {
        ctx.enqueue('test.effect', { tenant: tenant.id, from: 'done' });
        return ok;
      },
      { auditTenantId: tenant.id },
    );
    const mine = () => carriedOut.filter((payload) => payload.tenant === tenant.id);
    for (const deadline = Date.now() + 5_000; mine().length === 0 && Date.now() < deadline; )
      await Bun.sleep(5);
    expect(mine()).toEqual([{ tenant: tenant.id, from: 'done' }]);
  });

  test('an effect that was only written down is carried out by the next server that starts', async () => {
    const own = await testDatabase();
    const { tenant } = await newTenant(own.db);
    await runMutation(
      { db: own.db, outbox: rowsOnly, caller: caller(), requestId: 'req-00000002', log: silentLog },
      {
        mode: 'execute',
        operation: { id: 'test', irreversible: false },
        auditTenantId: tenant.id,
        verb: async (ctx) => {
          ctx.enqueue('test.late', { tenant: tenant.id });
          return ok;
        },
      },
    );
    const late: unknown[] = [];
    const next = createOutbox({
      url: own.url,
      db: own.db,
      log: silentLog,
      effects: { 'audit.anchor': async () => {}, 'test.late': async (payload) => void late.push(payload) },
      sweeps: [],
    });
    await next.start();
    for (const deadline = Date.now() + 5_000; late.length === 0 && Date.now() < deadline; )
      await Bun.sleep(5);
    await next.stop();
    await own.close();
    expect(late).toEqual([{ tenant: tenant.id }]);
  });
});

describe('the audit chain', () => {
  test('stays whole under parallel changes', async () => {
    const { tenant } = await newTenant(database.db);
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => run(renameTo(`n${i}`, tenant.id), { auditTenantId: tenant.id })),
    );
    expect(await breaksOf(tenant.id)).toEqual([]);
    const { rows } = await sql<{
      n: number;
    }>`select count(*) n from svc.audit_entries where tenant_id = ${tenant.id}`.execute(database.db);
    expect(rows[0]!.n).toBe(40);
  });

  test('refuses edits while its guard is on', async () => {
    const { tenant } = await newTenant(database.db);
    await run(renameTo('a', tenant.id), { auditTenantId: tenant.id });
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
    test(`${name} is found`, async () => {
      const { tenant } = await newTenant(database.db);
      for (let i = 0; i < 5; i++) await run(renameTo(`n${i}`, tenant.id), { auditTenantId: tenant.id });
      expect(await breaksOf(tenant.id)).toEqual([]);
      await tamper(statement.replaceAll('$1', `'${tenant.id}'`));
      expect(await breaksOf(tenant.id)).not.toEqual([]);
    });
  }

  test('a chain rebuilt from scratch, head included, differs from its anchor', async () => {
    const { tenant } = await newTenant(database.db);
    for (let i = 0; i < 3; i++) await run(renameTo(`n${i}`, tenant.id), { auditTenantId: tenant.id });
    const { rows } = await sql<{
      seq: number;
      hash: string;
    }>`select seq, hash from svc.audit_heads where tenant_id = ${tenant.id}`.execute(database.db);
    const anchor = { tenantId: tenant.id, ...rows[0]! };
    await tamper(`delete from svc.audit_entries where tenant_id = '${tenant.id}';
      delete from svc.audit_heads where tenant_id = '${tenant.id}'`);
    for (let i = 0; i < 3; i++) await run(renameTo(`m${i}`, tenant.id), { auditTenantId: tenant.id });
    expect(await breaksOf(tenant.id)).toEqual([]);
    expect(await findAuditBreaks(database.db, [anchor])).toContainEqual(expect.stringContaining('anchor'));
  });
});

async function breaksOf(tenantId: string): Promise<string[]> {
  return (await findAuditBreaks(database.db)).filter((text) => text.includes(tenantId));
}

/** As someone who owns the tables would: the guard is switched off first. */
async function tamper(statements: string): Promise<void> {
  await sql`alter table svc.audit_entries disable trigger audit_append_only`.execute(database.db);
  for (const statement of statements.split(';')) await sql.raw(statement).execute(database.db);
  await sql`alter table svc.audit_entries enable trigger audit_append_only`.execute(database.db);
}

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const { rows } = await sql<{ name: string }>`select schemaname || '.' || tablename as name from pg_tables
    where schemaname = 'svc' order by 1`.execute(database.db);
  const parts = await Promise.all(
    rows.map(async ({ name }) => {
      const table = await sql<{
        text: string;
      }>`select coalesce(string_agg(t::text, '\n' order by t::text), '') as text from ${sql.raw(name)} t`.execute(
        database.db,
      );
      return `${name}\n${table.rows[0]!.text}`;
    }),
  );
  return parts.join('\n');
}

test('this copy drops what it has cached as soon as a change is committed, and only then', async () => {
  const { tenant } = await newTenant(database.db);
  const told: string[] = [];
  const change = (mode: 'preview' | 'execute', verb: (ctx: MutationCtx) => Promise<StoredAnswer>) =>
    runMutation(
      {
        ...{ db: database.db, outbox, caller: caller(), requestId: 'req-00000001', log: silentLog },
        onCommitted: (tag) => told.push(tag),
      },
      { mode, operation: { id: 'test', irreversible: false }, auditTenantId: tenant.id, verb },
    );
  const tagging = (tag: string) => async (ctx: MutationCtx) => {
    ctx.changed(tag);
    expect(told).toEqual([]);
    return ok;
  };
  await change('preview', tagging('previewed'));
  const failing = async (ctx: MutationCtx): Promise<StoredAnswer> => {
    ctx.changed('failed');
    throw new Error('no');
  };
  await change('execute', failing).catch(() => {});
  expect(told).toEqual([]);
  await change('execute', tagging('done'));
  expect(told).toEqual(['done']);
});
