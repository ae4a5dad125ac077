import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type FreshDatabase, freshDatabase, query } from '../database/testing.ts';
import { type Connection, ConnectionLost, connect } from './connection.ts';

let database: FreshDatabase;
const opened: Connection[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  for (const connection of opened) connection.close();
  await database.drop();
});

async function open(more: { answerMsMax?: number; onClose?: () => void } = {}): Promise<Connection> {
  const connection = await connect({
    url: database.controlUrl,
    settings: { timezone: 'UTC', statement_timeout: '5000' },
    answerMsMax: more.answerMsMax ?? 7_000,
    onClose: more.onClose ?? (() => {}),
  });
  opened.push(connection);
  return connection;
}

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
const rowsOf = async (connection: Connection, text: string, values: (string | null)[] = []) =>
  (await connection.query(text, values)).rows;
const preparedCount = async (connection: Connection) =>
  Number((await rowsOf(connection, 'select count(*)::text from pg_prepared_statements'))[0]?.[0]);

describe('statements', () => {
  test('sent at once are answered in their order, each with its own values', async () => {
    const connection = await open();
    const answers = await Promise.all(
      Array.from({ length: 2_000 }, (_, at) =>
        at % 3 === 0
          ? rowsOf(connection, 'select $1::text, $2::text', [String(at), null])
          : rowsOf(connection, 'select g::text from generate_series($1::int, $1::int + 1) g', [String(at)]),
      ),
    );
    for (const [at, rows] of answers.entries()) {
      expect(rows).toEqual(at % 3 === 0 ? [[String(at), null]] : [[String(at)], [String(at + 1)]]);
    }
    expect(connection.pending).toBe(0);
  });

  test('one that fails leaves its neighbours untouched, whatever it fails at', async () => {
    const connection = await open();
    const good = (at: number) => rowsOf(connection, 'select $1::int::text', [String(at)]);
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
    const told = answers.map((answer) =>
      answer.status === 'fulfilled' ? (answer.value as string[][])[0]?.[0] : answer.reason.code,
    );
    expect(told).toEqual(['1', '42601', '2', '42P01', '3', '22P02', '22012', '4', '08P01', '5']);
    expect(await good(6)).toEqual([['6']]);
  });

  test('one whose preparing failed is prepared anew once it can be', async () => {
    const connection = await open();
    const text = 'select a::text from made_later';
    // Those sent behind the first are told that it is not prepared; that too is over with the next.
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(connection.query(text, []))));
    expect(codes[0]).toBe('42P01');
    await connection.query('create table made_later as select 7 as a', []);
    expect(await rowsOf(connection, text)).toEqual([['7']]);
    expect(await rowsOf(connection, text)).toEqual([['7']]);
  });

  test('more texts than are kept prepared are all answered, and the oldest are closed', async () => {
    const connection = await open();
    const texts = Array.from({ length: 900 }, (_, at) => `select '${at}'`);
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(texts.map((text) => rowsOf(connection, text)));
      expect(answers.map((rows) => rows[0]?.[0])).toEqual(texts.map((_, at) => String(at)));
    }
    expect(await preparedCount(connection)).toBeLessThanOrEqual(400);
  });

  test('one in steady use stays prepared while others come and go', async () => {
    const connection = await open();
    const steady = 'select $1::text as steady';
    for (let at = 0; at < 900; at++) {
      await Promise.all([connection.query(`select ${at}`, []), connection.query(steady, ['x'])]);
    }
    const times = await rowsOf(
      connection,
      'select count(*)::text, min(name) from pg_prepared_statements where statement = $1',
      [steady],
    );
    // Its name tells that it was prepared once, at the beginning.
    expect(times).toEqual([['1', 's2']]);
  });

  test('a text whose result has changed its shape is refused once and then prepared anew', async () => {
    const connection = await open();
    await connection.query('create table changing (a int)', []);
    const text = 'select * from changing';
    expect(await rowsOf(connection, text)).toEqual([]);
    await query(database.controlUrl, 'alter table changing add column b int');
    expect(await codeOf(connection.query(text, []))).toBe('0A000');
    expect(await rowsOf(connection, text)).toEqual([]);
    expect(await preparedCount(connection)).toBe(2);
  });

  test('rows handed out one by one are not collected', async () => {
    const connection = await open();
    let rows = 0;
    const result = await connection.query('select generate_series(1, 5000)', [], () => void rows++);
    expect([rows, result.rows]).toEqual([5_000, []]);
  });

  test('a taker of rows that throws fails its own statement alone', async () => {
    const connection = await open();
    const [broken, next] = await Promise.allSettled([
      connection.query('select generate_series(1, 3)', [], () => {
        throw new Error('no room');
      }),
      rowsOf(connection, 'select 1::text'),
    ]);
    expect(broken).toMatchObject({ status: 'rejected', reason: { message: 'no room' } });
    expect(next).toEqual({ status: 'fulfilled', value: [['1']] });
  });
});

describe('copy', () => {
  const bytes = (...chunks: string[]) => chunks.map((chunk) => Buffer.from(chunk));

  test('takes data in many chunks, cut anywhere', async () => {
    const connection = await open();
    await connection.query('create table copied (a text)', []);
    await connection.copy('copy copied from stdin', bytes('on', 'e\ntw', 'o\n', 'ä'.repeat(200_000), '\n'));
    const rows = await rowsOf(connection, 'select count(*)::text, max(length(a))::text from copied');
    expect(rows).toEqual([['3', '200000']]);
    await connection.copy('copy copied from stdin', []);
    expect(await rowsOf(connection, 'select count(*)::text from copied')).toEqual([['3']]);
  });

  test('that fails in the middle stores nothing, tells the line, and leaves the connection in order', async () => {
    const connection = await open();
    await connection.query('create table copied_ints (a int)', []);
    const many = Array.from({ length: 50_000 }, (_, at) => (at === 40_000 ? 'x' : String(at)));
    const failed = connection.copy('copy copied_ints from stdin', bytes(`${many.join('\n')}\n`, '1\n'));
    await expect(failed).rejects.toMatchObject({
      code: '22P02',
      where: expect.stringContaining('line 40001'),
    });
    expect(await rowsOf(connection, 'select count(*)::text from copied_ints')).toEqual([['0']]);
    await connection.copy('copy copied_ints from stdin', bytes('1\n'));
    expect(await rowsOf(connection, 'select count(*)::text from copied_ints')).toEqual([['1']]);
  });

  test('into a table that is not there is refused at once', async () => {
    const connection = await open();
    const begun = performance.now();
    expect(await codeOf(connection.copy('copy not_there from stdin', bytes('1\n')))).toBe('42P01');
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(await rowsOf(connection, 'select 1::text')).toEqual([['1']]);
  });

  test('in a transaction that has failed is refused, and a rollback puts it right', async () => {
    const connection = await open();
    await connection.query('create table copied_once (a int)', []);
    await connection.query('begin', []);
    expect(await codeOf(connection.query('select 1/0', []))).toBe('22012');
    expect(await codeOf(connection.copy('copy copied_once from stdin', bytes('1\n')))).toBe('25P02');
    await connection.query('rollback', []);
    await connection.copy('copy copied_once from stdin', bytes('1\n'));
    expect(await rowsOf(connection, 'select a::text from copied_once')).toEqual([['1']]);
  });
});

describe('a connection that is lost', () => {
  const pidOf = async (connection: Connection) =>
    (await rowsOf(connection, 'select pg_backend_pid()::text'))[0]?.[0];

  test('fails all that is under way and all that comes after, and says so once', async () => {
    let closes = 0;
    const connection = await open({ onClose: () => closes++ });
    const pid = await pidOf(connection);
    const waiting = [connection.query('select pg_sleep(30)', []), connection.query('select 1', [])].map(
      (each) => each.catch((error: unknown) => error),
    );
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
    await query(database.adminUrl, `select pg_terminate_backend(${await pidOf(connection)})`);
    await promise;
    expect(connection.isOpen).toBe(false);
  });

  test('is given up when no answer comes for too long', async () => {
    const connection = await open({ answerMsMax: 200 });
    const begun = performance.now();
    await expect(connection.query('select pg_sleep(5)', [])).rejects.toBeInstanceOf(ConnectionLost);
    expect(performance.now() - begun).toBeLessThan(2_500);
  });

  test('the wait behind another does not count as its own time without an answer', async () => {
    const connection = await open({ answerMsMax: 1_500 });
    const naps = [1, 2, 3].map(() => connection.query('select pg_sleep(0.7)', []));
    await Promise.all(naps);
    expect(connection.isOpen).toBe(true);
  });

  test('that can not be made is an error of the socket, not a hang', async () => {
    const url = 'postgresql://nobody@127.0.0.1:1/none';
    const attempt = connect({ url, settings: {}, answerMsMax: 1_000, onClose: () => {} });
    await expect(attempt).rejects.toThrow();
  });
});

test('a session is in the settings asked for', async () => {
  const connection = await open();
  expect(await rowsOf(connection, 'show timezone')).toEqual([['UTC']]);
  expect(await rowsOf(connection, 'show statement_timeout')).toEqual([['5s']]);
});
