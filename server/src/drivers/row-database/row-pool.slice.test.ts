import { afterAll, describe, expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { useFreshDatabase } from '../database/hooks-testing.ts';
import { query } from '../database/testing.ts';
import { type AppRows, createRowPool, type RowPool, type RowPoolOptions } from './row-pool.ts';

// Hooks run in the order of registration.
afterAll(() => {
  for (const rows of opened) rows.close();
});
const database = useFreshDatabase();
const opened: RowPool[] = [];

function open(more: Partial<RowPoolOptions> = {}): AppRows & RowPool {
  const rows = createRowPool({
    url: database.controlUrl,
    statementMsMax: 5_000,
    transactionStatementMsMax: 30_000,
    ...more,
  });
  opened.push(rows);
  return { ...rows, ...rows.of('an app') };
}

async function table(rows: AppRows, name: string): Promise<string> {
  await rows.run('write', `create table ${name} (a int primary key)`, []);
  return name;
}

const first = async (rows: AppRows, text: string, values: (string | null)[] = []) =>
  (await rows.run('read', text, values)).rows[0]?.[0];
const errorCode = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

test('the connection for reads can be opened before the first one', async () => {
  const rows = open();
  const count = `select count(*)::int as count from pg_stat_activity
    where application_name = 'svc rows' and datname = current_database()`;
  const before = (await query(database.controlUrl, count))[0].count;
  await rows.open();
  expect((await query(database.controlUrl, count))[0].count).toBe(before + 1);
  await rows.run('point', 'select 1', []);
  expect((await query(database.controlUrl, count))[0].count).toBe(before + 1);
});

describe('a transaction', () => {
  test('commits or rolls back as the work decides, and rolls back when it throws', async () => {
    const rows = open();
    const name = await table(rows, 'ends');
    const insert = `insert into ${name} values ($1::int)`;
    const ended = (a: string, end: 'commit' | 'rollback') =>
      rows.transaction(async (tx) => {
        await tx.query(insert, [a]);
        return { end, value: a };
      });
    expect(await ended('1', 'commit')).toBe('1');
    expect(await ended('2', 'rollback')).toBe('2');
    const thrown = rows.transaction(async (tx) => {
      await tx.query(insert, ['3']);
      throw new Error('changed my mind');
    });
    await expect(thrown).rejects.toThrow('changed my mind');
    const failed = rows.transaction(async (tx) => {
      await tx.query(insert, ['4']);
      await tx.query(insert, ['1']);
      return { end: 'commit', value: null };
    });
    expect(await errorCode(failed)).toBe('23505');
    expect(await first(rows, `select string_agg(a::text, ',') from ${name}`)).toBe('1');
  });

  test('leaves no settings, role or open transaction on its connection', async () => {
    const rows = open({ statementMsMax: 7_000 });
    const messy = (last: string) =>
      rows.transaction(async (tx) => {
        await tx.query("set local statement_timeout = '77s'", []);
        await tx.query("set local timezone = 'Asia/Tokyo'", []);
        await tx.query("set local search_path = 'nowhere'", []);
        await tx.query(last, []);
        return { end: 'commit', value: null };
      });
    const cancelled = `set local statement_timeout = 50`;
    const ends = [
      messy('select 1'),
      messy('select 1/0'),
      messy('select * from not_there'),
      rows.transaction(async (tx) => {
        await tx.query("set local timezone = 'Asia/Tokyo'", []);
        await tx.query(cancelled, []);
        await tx.query('select pg_sleep(60)', []);
        return { end: 'commit', value: null };
      }),
    ];
    expect(await Promise.all(ends.map(errorCode))).toEqual(['done', '22012', '42P01', '57014']);
    const settings = `select current_setting('timezone') || ' ' || current_setting('statement_timeout')
      || ' ' || current_setting('search_path') || ' ' || (current_user = session_user)::text`;
    const found = await Promise.all(
      Array.from({ length: 12 }, () =>
        rows.transaction(async (tx) => ({
          end: 'rollback',
          value: (await tx.query(settings, [])).rows[0]?.[0],
        })),
      ),
    );
    expect(new Set(found)).toEqual(new Set(['UTC 7s "$user", public true']));
    await waitForCount("state like 'idle in transaction%'", 0);
  });

  test('waits for a connection no longer than waitMsMax', async () => {
    const rows = open({ waitMsMax: patientMs(150) });
    const held = Promise.withResolvers<void>();
    const started: Promise<void>[] = [];
    const holders = Array.from({ length: 8 }, () => {
      const begun = Promise.withResolvers<void>();
      started.push(begun.promise);
      return rows.transaction(async (tx) => {
        await tx.query('select 1', []);
        begun.resolve();
        await held.promise;
        return { end: 'rollback', value: null };
      });
    });
    await Promise.all(started);
    const work = async () => ({ end: 'rollback', value: null }) as const;
    expect(await errorCode(rows.transaction(work))).toBe('timeout exceeded when trying to connect');
    held.resolve();
    await Promise.all(holders);
    expect(await errorCode(rows.transaction(work))).toBe('done');
  });

  test('fails when its connection is lost, and the next one gets a new connection', async () => {
    const rows = open();
    const lost = rows.transaction(async (tx) => {
      const [[pid] = []] = (await tx.query('select pg_backend_pid()::text', [])).rows;
      await query(database.adminUrl, `select pg_terminate_backend(${pid})`);
      await tx.query('select 1', []);
      return { end: 'commit', value: null };
    });
    expect(await errorCode(lost)).toBe('ECONNRESET');
    const next = rows.transaction(async (tx) => ({
      end: 'commit',
      value: (await tx.query('select 1::text', [])).rows,
    }));
    expect(await next).toEqual([['1']]);
  });
});

describe('statements', () => {
  test('that are fast do not wait for a slow one', async () => {
    const rows = open({ statementMsMax: 120_000 });
    const quick = 'select $1::int::text';
    for (let at = 0; at < 5; at++) await first(rows, quick, [String(at)]);
    const slow = watched(rows.run('read', 'select pg_sleep(100)', []));
    for (let at = 0; at < 20; at++) expect(await first(rows, quick, [String(at)])).toBe(String(at));
    expect(slow.isOver()).toBe(false);
    await cancelSleeps();
    expect(await slow.code).toBe('57014');
  });

  test('that become slow delay the others only once and briefly', async () => {
    const rows = open({ statementMsMax: 120_000 });
    const text = 'select pg_sleep($1::float8)::text';
    const quick = 'select $1::text';
    for (let at = 0; at < 5; at++)
      await Promise.all([rows.run('read', text, ['0']), first(rows, quick, ['x'])]);
    for (let round = 0; round < 3; round++) {
      const slow = watched(rows.run('read', text, ['100']));
      const begun = performance.now();
      const behind = await Promise.all(
        Array.from({ length: 20 }, (_, at) => first(rows, quick, [String(at)])),
      );
      expect(behind).toEqual(behind.map((_, at) => String(at)));
      expect(performance.now() - begun).toBeLessThan(patientMs(round === 0 ? 1_000 : 250));
      expect(slow.isOver()).toBe(false);
      await cancelSleeps();
      expect(await slow.code).toBe('57014');
    }
  });

  test('that time out repeatedly delay no others', async () => {
    const rows = open({ statementMsMax: 2_000 });
    const text = 'select pg_sleep($1::float8)::text';
    const quick = 'select $1::text';
    for (let at = 0; at < 3; at++)
      await Promise.all([rows.run('read', text, ['0']), first(rows, quick, ['x'])]);
    expect(await errorCode(rows.run('read', text, ['60']))).toBe('57014');
    const again = watched(rows.run('read', text, ['60']));
    await first(rows, quick, ['y']);
    expect(again.isOver()).toBe(false);
    expect(await again.code).toBe('57014');
  });

  test('of one app leave connections for another app', async () => {
    const rows = open();
    await table(rows, 'held');
    await rows.run('write', 'insert into held values (1)', []);
    const other = rows.of('another');
    await rows.transaction(async (tx) => {
      await tx.query('select a from held for update', []);
      const stuck = Array.from({ length: 40 }, () =>
        errorCode(rows.run('write', 'update held set a = a', [])),
      );
      await waitForCount("wait_event_type = 'Lock'", 7);
      const begun = performance.now();
      await Promise.all(
        Array.from({ length: 8 }, () => other.run('read', 'select pg_sleep(0.01)::text', [])),
      );
      expect(performance.now() - begun).toBeLessThan(patientMs(2_000));
      void Promise.all(stuck);
      return { end: 'rollback', value: null };
    });
  });

  test('that insert at once do not suffer from those that fail or wait for a lock', async () => {
    const rows = open();
    const name = await table(rows, 'inserted');
    const insert = (a: number) =>
      errorCode(rows.run('insert', `insert into ${name} values ($1::int)`, [String(a)]));
    for (let at = 0; at < 20; at++) expect(await insert(at)).toBe('done');
    const release = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holder = rows.transaction(async (tx) => {
      await tx.query(`insert into ${name} values (100)`, []);
      locked.resolve();
      await release.promise;
      return { end: 'rollback', value: null };
    });
    await locked.promise;
    const blocked = watched(rows.run('insert', `insert into ${name} values ($1::int)`, ['100']));
    const others = Array.from({ length: 60 }, (_, at) => insert(20 + at));
    const twice = insert(3);
    expect(await Promise.all(others)).toEqual(others.map(() => 'done'));
    expect(await twice).toBe('23505');
    expect(blocked.isOver()).toBe(false);
    release.resolve();
    expect(await blocked.code).toBe('done');
    await holder;
    expect(await first(rows, `select count(*)::text from ${name}`)).toBe('81');
  });

  test('that read at once share a transaction, and one that fails is the only one to fail', async () => {
    const rows = open();
    const text = 'select (6 / $1::int)::text, pg_current_xact_id()::text';
    const divide = async (by: number) => (await rows.run('point', text, [String(by)])).rows[0];
    const answers = async (attempts: Promise<unknown>[]) =>
      (await Promise.allSettled(attempts)).map((each) =>
        each.status === 'fulfilled' ? each.value : Object(each.reason).code,
      );
    await divide(1);
    const [one, two, three] = await Promise.all([1, 2, 3].map(divide));
    expect([one?.[0], two?.[0], three?.[0]]).toEqual(['6', '3', '2']);
    expect([two?.[1], three?.[1]]).toEqual([one?.[1], one?.[1]]);
    const [before, failed, after] = await answers([2, 0, 3].map(divide));
    expect([before?.[0], failed, after?.[0]]).toEqual(['3', '22012', '2']);
    expect(before?.[1]).not.toBe(after?.[1]);
  });

  test('of one tenant take half of the places while two are active, however many there are', async () => {
    const rows = open();
    const [greedy, other] = [rows.of('its app', 'greedy'), rows.of('another app', 'other')];
    const point = (of: AppRows) => of.run('point', 'select 1', []);
    await Promise.all([point(greedy), point(other)]);
    let answered = 0;
    const flood = Array.from({ length: 250 }, () => point(greedy).then(() => answered++));
    await point(other);
    expect(answered).toBeLessThanOrEqual(33);
    await Promise.all(flood);
    expect(answered).toBe(250);
  });

  test('do not keep results or row handlers in memory', async () => {
    const rows = open();
    let kept = 0;
    const registry = new FinalizationRegistry(() => kept--);
    const take = async () => {
      const taker = { bytes: Buffer.alloc(1024 * 1024) };
      kept++;
      registry.register(taker, null);
      await rows.run('point', 'select 1', [], () => () => void taker.bytes.fill(1));
    };
    for (let at = 0; at < 50; at++) await take();
    for (const deadline = performance.now() + patientMs(5_000); kept > 25 && performance.now() < deadline; ) {
      Bun.gc(true);
      await Bun.sleep(1);
    }
    expect(kept).toBeLessThanOrEqual(25);
  });

  test('that time out are cancelled, and their connection stays usable', async () => {
    const rows = open({ statementMsMax: patientMs(200) });
    expect(await errorCode(rows.run('read', 'select pg_sleep(60)', []))).toBe('57014');
    expect(await first(rows, 'select 1::text')).toBe('1');
  });

  test('continue after all connections were lost', async () => {
    const rows = open();
    const text = 'select $1::text';
    const ask = (at: number) => first(rows, text, [String(at)]);
    for (let at = 0; at < 20; at++) await ask(at);
    await query(
      database.adminUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'svc rows'`,
    );
    const codes = await Promise.all(Array.from({ length: 50 }, (_, at) => errorCode(ask(at))));
    for (const code of codes) expect(['done', 'ECONNRESET']).toContain(code);
    for (let at = 0; at < 20; at++) expect(await ask(at)).toBe(String(at));
  });

  test('with thousands of different texts at once get their own results', async () => {
    const rows = open();
    await Promise.all(
      Array.from({ length: 4_000 }, async (_, at) => {
        const columns = 1 + (at % 17);
        const nonce = crypto.randomUUID();
        const text = `select ${Array.from({ length: columns }, (_, i) => `$1::text || '-${i}'`).join(', ')}`;
        const result = await rows.run(at % 2 === 0 ? 'read' : 'write', text, [nonce]);
        expect(result.rows).toEqual([Array.from({ length: columns }, (_, i) => `${nonce}-${i}`)]);
      }),
    );
  });

  test('finish after close, and then no connection stays open', async () => {
    const rows = open();
    const under = Array.from({ length: 6 }, () => errorCode(rows.run('read', 'select pg_sleep(0.3)', [])));
    await waitForCount("state = 'active' and query like '%pg_sleep(0.3)%'", 6);
    for (const each of opened) each.close();
    expect(await Promise.all(under)).toEqual(under.map(() => 'done'));
    await waitForCount('true', 0);
  });
});

/** The end of a statement, and whether it is over by now. */
function watched(statement: Promise<unknown>) {
  let isOver = false;
  const code = errorCode(statement).finally(() => {
    isOver = true;
  });
  return { code, isOver: () => isOver };
}

/** A statement that was sent behind others may start later: repeats until there is one to cancel. */
async function cancelSleeps(): Promise<void> {
  for (const deadline = performance.now() + patientMs(5_000); performance.now() < deadline; ) {
    const canceled = await query(
      database.adminUrl,
      `select pg_cancel_backend(pid) from pg_stat_activity
       where datname = current_database() and state = 'active' and query like 'select pg_sleep(%'`,
    );
    if (canceled.length > 0) return;
  }
  throw new Error('There is no statement to cancel.');
}

async function waitForCount(condition: string, expected: number): Promise<void> {
  for (const deadline = performance.now() + patientMs(5_000); ; ) {
    const [row] = await query(
      database.adminUrl,
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and application_name = 'svc rows' and ${condition}`,
    );
    if (row?.count === expected) return;
    if (performance.now() > deadline) throw new Error(`${row?.count} connections where ${condition}`);
  }
}

test('a statement that becomes slow after its first rows is run again from its start', async () => {
  const rows = open();
  const text = "select repeat('x', 20000), pg_sleep(0.05) from generate_series(1, $1::int)";
  let received = 0;
  await rows.run('point', text, ['20'], () => {
    received = 0;
    return () => void received++;
  });
  expect(received).toBe(20);
});
