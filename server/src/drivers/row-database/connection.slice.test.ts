import { afterAll, describe, expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { databaseError } from '../../core/db.ts';
import { useFreshDatabase } from '../database/hooks-testing.ts';
import { query } from '../database/testing.ts';
import { type Connection, ConnectionLost, connect } from './connection.ts';

// Hooks run in the order of registration.
afterAll(() => {
  for (const connection of opened) connection.close();
});
const database = useFreshDatabase();
const opened: Connection[] = [];

async function open(
  more: { answerMsMax?: number; rowBytesMax?: number; onClose?: () => void } = {},
): Promise<Connection> {
  const connection = await connect({
    url: database.controlUrl,
    settings: { timezone: 'UTC', statement_timeout: '5000' },
    answerMsMax: more.answerMsMax ?? 7_000,
    onClose: more.onClose ?? (() => {}),
    ...(more.rowBytesMax !== undefined && { rowBytesMax: more.rowBytesMax }),
  });
  opened.push(connection);
  return connection;
}

const errorCode = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
const queryRows = async (connection: Connection, text: string, values: (string | null)[] = []) =>
  (await connection.query(text, values)).rows;
const preparedCount = async (connection: Connection) =>
  Number((await queryRows(connection, 'select count(*)::text from pg_prepared_statements'))[0]?.[0]);

describe('statements', () => {
  test('sent at once return results in order, each for its own values', async () => {
    const connection = await open();
    const answers = await Promise.all(
      Array.from({ length: 2_000 }, (_, at) =>
        at % 3 === 0
          ? queryRows(connection, 'select $1::text, $2::text', [String(at), null])
          : queryRows(connection, 'select g::text from generate_series($1::int, $1::int + 1) g', [
              String(at),
            ]),
      ),
    );
    for (const [at, rows] of answers.entries()) {
      expect(rows).toEqual(at % 3 === 0 ? [[String(at), null]] : [[String(at)], [String(at + 1)]]);
    }
    expect(connection.pending).toBe(0);
  });

  test('that fail do not affect the others', async () => {
    const connection = await open();
    const good = (at: number) => queryRows(connection, 'select $1::int::text', [String(at)]);
    const answers = await Promise.allSettled([
      good(1),
      connection.query('selekt 1', []),
      good(2),
      connection.query('select * from not_there', []),
      good(3),
      connection.query('select $1::int::text', ['x']),
      connection.query('select 1 / $1::int', ['0']),
      good(4),
      connection.query('select $1', []),
      good(5),
    ]);
    const results = answers.map((answer) =>
      answer.status === 'fulfilled' ? (answer.value as string[][])[0]?.[0] : answer.reason.code,
    );
    expect(results).toEqual(['1', '42601', '2', '42P01', '3', '22P02', '22012', '4', '08P01', '5']);
    expect(await good(6)).toEqual([['6']]);
  });

  test('that could not be prepared are prepared again on the next use', async () => {
    const connection = await open();
    const text = 'select a::text from made_later';
    const codes = await Promise.all([1, 2, 3].map(() => errorCode(connection.query(text, []))));
    expect(codes[0]).toBe('42P01');
    await connection.query('create table made_later as select 7 as a', []);
    expect(await queryRows(connection, text)).toEqual([['7']]);
    expect(await queryRows(connection, text)).toEqual([['7']]);
  });

  test('beyond the limit of prepared statements succeed, and the oldest are closed', async () => {
    const connection = await open();
    const texts = Array.from({ length: 900 }, (_, at) => `select '${at}'`);
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(texts.map((text) => queryRows(connection, text)));
      expect(answers.map((rows) => rows[0]?.[0])).toEqual(texts.map((_, at) => String(at)));
    }
    expect(await preparedCount(connection)).toBeLessThanOrEqual(400);
  });

  test('in frequent use stay prepared', async () => {
    const connection = await open();
    const steady = 'select $1::text as steady';
    for (let at = 0; at < 900; at++) {
      await Promise.all([connection.query(`select ${at}`, []), connection.query(steady, ['x'])]);
    }
    const times = await queryRows(
      connection,
      'select count(*)::text, min(name) from pg_prepared_statements where statement = $1',
      [steady],
    );
    // The name shows that it was prepared once, at the beginning.
    expect(times).toEqual([['1', 's2']]);
  });

  test('whose result columns changed fail once and are then prepared again', async () => {
    const connection = await open();
    await connection.query('create table changing (a int)', []);
    const text = 'select * from changing';
    expect(await queryRows(connection, text)).toEqual([]);
    await query(database.controlUrl, 'alter table changing add column b int');
    expect(await errorCode(connection.query(text, []))).toBe('0A000');
    expect(await queryRows(connection, text)).toEqual([]);
    expect(await preparedCount(connection)).toBe(2);
  });

  test('with onRow do not collect rows', async () => {
    const connection = await open();
    let rows = 0;
    const result = await connection.query('select generate_series(1, 5000)', [], () => void rows++);
    expect([rows, result.rows]).toEqual([5_000, []]);
  });

  test('whose onRow throws fail alone', async () => {
    const connection = await open();
    const [broken, next] = await Promise.allSettled([
      connection.query('select generate_series(1, 3)', [], () => {
        throw new Error('no room');
      }),
      queryRows(connection, 'select 1::text'),
    ]);
    expect(broken).toMatchObject({ status: 'rejected', reason: { message: 'no room' } });
    expect(next).toEqual({ status: 'fulfilled', value: [['1']] });
  });
});

describe('statements of a group', () => {
  const create = async (name: string, constraint = 'primary key') => {
    const connection = await open();
    await connection.query(`create table ${name} (a int ${constraint})`, []);
    const insert = `insert into ${name} values ($1::int) returning a::text, pg_current_xact_id()::text`;
    await connection.query(insert, ['0']);
    const end = (attempt: Promise<unknown>) =>
      attempt.then(
        () => 'done',
        (error: Error & { code?: string }) => error.code ?? error.name,
      );
    return {
      connection,
      insert: (a: number) => connection.queryInGroup(insert, [String(a)]),
      insertAlone: (a: number) => connection.query(insert, [String(a)]),
      ends: (attempts: Promise<unknown>[]) => Promise.all(attempts.map(end)),
      stored: async () => (await queryRows(connection, `select a::text from ${name} order by a`)).flat(),
    };
  };

  test('that are sent at once are one transaction', async () => {
    const { insert, insertAlone } = await create('grouped');
    const inserted = await Promise.all([insert(1), insert(2), insertAlone(3), insert(4)]);
    const rows = inserted.map(({ rows: [row] }) => row);
    expect(rows.map((row) => row?.[0])).toEqual(['1', '2', '3', '4']);
    const [one, two, alone, four] = rows.map((row) => row?.[1]);
    expect([one === two, one === alone, alone === four]).toEqual([true, false, false]);
  });

  test('have no effect if one of them fails', async () => {
    const { connection, insert, insertAlone, ends, stored } = await create('aborted');
    const attempts = [insert(1), insert(0), insert(2), insertAlone(3), insert(4)];
    expect(await ends(attempts)).toEqual(['GroupAborted', '23505', 'GroupAborted', 'done', 'done']);
    expect(await stored()).toEqual(['0', '3', '4']);
    expect(connection.pending).toBe(0);
    expect(await ends([insert(1), insert(2)])).toEqual(['done', 'done']);
  });

  test('have no effect if their commit fails, which is an error of one that is alone', async () => {
    const { insert, ends, stored } = await create('committed', 'unique deferrable initially deferred');
    expect(await ends([insert(1), insert(0)])).toEqual(['GroupAborted', 'GroupAborted']);
    expect(await ends([insert(0)])).toEqual(['23505']);
    expect(await stored()).toEqual(['0']);
  });

  test('that are many, and not prepared yet, return their own results', async () => {
    const connection = await open();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        connection.queryInGroup(`select $1::text, '${at % 5}'`, [String(at)]),
      ),
    );
    expect(answers.map(({ rows }) => rows)).toEqual(answers.map((_, at) => [[String(at), String(at % 5)]]));
  });

  test('that take more places are fewer', async () => {
    const connection = await open();
    const text = 'select pg_current_xact_id()::text';
    await connection.query(text, []);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => connection.queryInGroup(text, [], undefined, 4)),
    );
    const ids = answers.map(({ rows: [row] }) => row?.[0]);
    expect([new Set(ids).size, new Set(ids.slice(0, 4)).size]).toEqual([2, 1]);
  });

  test('one of which has a row that is too large are lost, except for that one', async () => {
    const connection = await open({ rowBytesMax: 10_000 });
    const text = "select repeat('x', $1::int)";
    const ask = (length: number) => connection.queryInGroup(text, [String(length)]);
    await ask(1);
    const ends = await Promise.allSettled([ask(9_000), ask(2_000_000), ask(2)]);
    const names = ends.map((end) => (end.status === 'rejected' ? Object(end.reason).name : 'done'));
    expect(names).toEqual(['ConnectionLost', 'RowTooLarge', 'ConnectionLost']);
  });

  test('whose preparation fails fail alone', async () => {
    const { connection, insert, ends, stored } = await create('unprepared');
    const wrong = () => connection.queryInGroup('insert into not_there values (1)', []);
    expect(await ends([insert(1), wrong(), insert(2)])).toEqual(['done', '42P01', 'done']);
    expect(await stored()).toEqual(['0', '1', '2']);
  });
});

describe('copy', () => {
  const bytes = (...chunks: string[]) => chunks.map((chunk) => Buffer.from(chunk));

  test('accepts chunks with any boundaries', async () => {
    const connection = await open();
    await connection.query('create table copied (a text)', []);
    await connection.copy('copy copied from stdin', bytes('on', 'e\ntw', 'o\n', 'ä'.repeat(200_000), '\n'));
    const rows = await queryRows(connection, 'select count(*)::text, max(length(a))::text from copied');
    expect(rows).toEqual([['3', '200000']]);
    await connection.copy('copy copied from stdin', []);
    expect(await queryRows(connection, 'select count(*)::text from copied')).toEqual([['3']]);
  });

  test('that fails in the middle stores nothing, reports the line, and leaves the connection usable', async () => {
    const connection = await open();
    await connection.query('create table copied_ints (a int)', []);
    const many = Array.from({ length: 50_000 }, (_, at) => (at === 40_000 ? 'x' : String(at)));
    const failed = connection.copy('copy copied_ints from stdin', bytes(`${many.join('\n')}\n`, '1\n'));
    await expect(failed).rejects.toMatchObject({
      code: '22P02',
      where: expect.stringContaining('line 40001'),
    });
    expect(await queryRows(connection, 'select count(*)::text from copied_ints')).toEqual([['0']]);
    await connection.copy('copy copied_ints from stdin', bytes('1\n'));
    expect(await queryRows(connection, 'select count(*)::text from copied_ints')).toEqual([['1']]);
  });

  test('whose data end with an error stores nothing and leaves the connection usable', async () => {
    const connection = await open();
    await connection.query('create table copied_half (a int)', []);
    async function* half() {
      yield Buffer.from('1\n');
      throw new Error('the next line is wrong');
    }
    expect(await errorCode(connection.copy('copy copied_half from stdin', half()))).toBe('57014');
    expect(await queryRows(connection, 'select count(*)::text from copied_half')).toEqual([['0']]);
  });

  test('fails at its first wrong row, though the next ones are not there yet', async () => {
    const connection = await open();
    await connection.query('create table copied_early (a int)', []);
    const more = Promise.withResolvers<void>();
    async function* slow() {
      yield Buffer.from(`x\n${'1\n'.repeat(100_000)}`);
      await more.promise;
      yield Buffer.from('2\n');
    }
    expect(await errorCode(connection.copy('copy copied_early from stdin', slow()))).toBe('22P02');
    more.resolve();
    expect(await queryRows(connection, 'select count(*)::text from copied_early')).toEqual([['0']]);
  });

  test('into a missing table fails at once', async () => {
    const connection = await open();
    const begun = performance.now();
    expect(await errorCode(connection.copy('copy not_there from stdin', bytes('1\n')))).toBe('42P01');
    expect(performance.now() - begun).toBeLessThan(patientMs(1_000));
    expect(await queryRows(connection, 'select 1::text')).toEqual([['1']]);
  });

  test('in a failed transaction fails until the rollback', async () => {
    const connection = await open();
    await connection.query('create table copied_once (a int)', []);
    await connection.query('begin', []);
    expect(await errorCode(connection.query('select 1/0', []))).toBe('22012');
    expect(await errorCode(connection.copy('copy copied_once from stdin', bytes('1\n')))).toBe('25P02');
    await connection.query('rollback', []);
    await connection.copy('copy copied_once from stdin', bytes('1\n'));
    expect(await queryRows(connection, 'select a::text from copied_once')).toEqual([['1']]);
  });
});

describe('a connection that is lost', () => {
  const backendPid = async (connection: Connection) =>
    (await queryRows(connection, 'select pg_backend_pid()::text'))[0]?.[0];

  test('fails running and later statements, and calls onClose once', async () => {
    let closes = 0;
    const connection = await open({ onClose: () => closes++ });
    const pid = await backendPid(connection);
    await connection.query('select 2', []);
    const waiting = [
      connection.query('select pg_sleep(30)', []),
      connection.query('select 1', []),
      connection.queryInGroup('select 2', []),
    ].map((each) => each.catch((error: unknown) => error));
    await query(database.adminUrl, `select pg_terminate_backend(${pid})`);
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(ConnectionLost);
    expect(connection.isOpen).toBe(false);
    await expect(connection.query('select 1', [])).rejects.toBeInstanceOf(ConnectionLost);
    await expect(connection.copy('copy t from stdin', [])).rejects.toBeInstanceOf(ConnectionLost);
    connection.close();
    expect(closes).toBe(1);
  });

  test('while idle is noticed', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const connection = await open({ onClose: resolve });
    await query(database.adminUrl, `select pg_terminate_backend(${await backendPid(connection)})`);
    await promise;
    expect(connection.isOpen).toBe(false);
  });

  test('is closed when an answer takes too long', async () => {
    const connection = await open({ answerMsMax: 200 });
    const begun = performance.now();
    await expect(connection.query('select pg_sleep(5)', [])).rejects.toBeInstanceOf(ConnectionLost);
    expect(performance.now() - begun).toBeLessThan(patientMs(2_500));
  });

  test('does not count the wait for earlier statements', async () => {
    const connection = await open({ answerMsMax: 1_500 });
    const naps = [1, 2, 3].map(() => connection.query('select pg_sleep(0.7)', []));
    await Promise.all(naps);
    expect(connection.isOpen).toBe(true);
  });

  test('to an unreachable server is an error', async () => {
    const url = 'postgresql://nobody@127.0.0.1:1/none';
    const attempt = connect({ url, settings: {}, answerMsMax: 1_000, onClose: () => {} });
    await expect(attempt).rejects.toThrow();
  });

  test('to a server that does not answer is unavailable', async () => {
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } });
    const client = { host: '127.0.0.1', port: silent.port, user: 'nobody', connectionTimeoutMillis: 50 };
    const attempt = connect({ client, settings: {}, answerMsMax: 1_000, onClose: () => {} });
    const error = await attempt.catch((reason: unknown) => reason);
    silent.stop(true);
    expect(databaseError(error)?.code).toBe('unavailable');
  });
});

test('a session has the requested settings', async () => {
  const connection = await open();
  expect(await queryRows(connection, 'show timezone')).toEqual([['UTC']]);
  expect(await queryRows(connection, 'show statement_timeout')).toEqual([['5s']]);
});
