import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { useFixture } from '../scripts/use-fixture.ts';
import { lineOf } from './support/citus.ts';
import { lines, ndjson, rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const count = async (table: TestTable) => (await table.send('GET', '/_count')).body.count;
const values = async (table: TestTable) => (await table.list('?sort=a&per_page=200')).map(({ a }) => a);

describe('a batch', () => {
  test('stores every line and returns the ids in the order of the lines', async () => {
    const table = await world.table(['a:int']);
    const answer = await table.send('POST', '', lines([{ a: 3 }, { a: 1 }, { a: 2 }]), ndjson);
    expect(answer.status).toBe(201);
    expect(answer.text).toBe(`{"inserted":3,"ids":${JSON.stringify(answer.body.ids)}}`);
    for (const [at, a] of [3, 1, 2].entries())
      expect((await table.send('GET', `/${answer.body.ids[at]}`)).body.a).toBe(a);
  });

  test('numbered and explicit ids are returned as rows show them', async () => {
    const numbered = await world.table(['id:bigint', 'a:int:nullable']);
    const made = await numbered.batch([{ a: 1 }, { id: '9007199254740993' }, { a: 2 }]);
    expect(made.body.ids).toEqual([1, '9007199254740993', 2]);
    const named = await world.table(['id:text', 'a:int:nullable']);
    expect((await named.batch([{ id: 'x/y' }, { id: '7' }])).body.ids).toEqual(['x/y', '7']);
  });

  test('accepts a trailing newline or none, CRLF, blank lines, a byte order mark, and one line', async () => {
    const bodies = [
      '{"a":1}\n{"a":2}\n',
      '{"a":1}\n{"a":2}',
      '{"a":1}\r\n{"a":2}\r\n',
      '\ufeff{"a":1}\n{"a":2}',
    ];
    bodies.push('\n\n  \n{"a":1}\n\t\n{"a":2}\n\n', ' {"a":1} \n\t{"a" : 2}');
    for (const type of ['application/x-ndjson', 'application/jsonl', 'application/json']) {
      for (const body of bodies) {
        const table = await world.table(['a:int']);
        const answer = await table.send('POST', '', body, { 'content-type': type });
        expect([type, body, answer.status, answer.body.inserted]).toEqual([type, body, 201, 2]);
        expect(await values(table)).toEqual([1, 2]);
      }
    }
    const table = await world.table(['a:int']);
    for (const type of ['application/x-ndjson', 'application/jsonl; charset=utf-8', 'Application/X-NDJSON']) {
      const one = await table.send('POST', '', '{"a":1}', { 'content-type': type });
      expect([one.status, one.body.inserted]).toEqual([201, 1]);
    }
    // One object under application/json is a row, not a batch, however many lines it is written on.
    expect((await table.send('POST', '', '{\n"a"\n:\n9\n}\n')).body.a).toBe(9);
  });

  test('an empty body, or one of blank lines, has no row', async () => {
    const table = await world.table(['a:int:nullable']);
    for (const body of ['', '\n', ' \r\n\t\n', '\ufeff']) {
      const answer = await table.send('POST', '', body, ndjson);
      expect([body, answer.status, answer.body.code]).toEqual([body, 400, 'validation_failed']);
    }
    expect((await table.send('POST', '', '')).status).toBe(400);
  });

  test('with a bad line in the middle stores nothing and names the line, counted with the blank ones', async () => {
    const table = await world.table(['a:int', 'b:text:nullable']);
    const bad: Record<string, object> = {
      '{"a":"x"}': { column: 'a', code: 'invalid_value' },
      '{"b":"x"}': { column: 'a', code: 'required' },
      '{"a":1,"nope":2}': { column: 'nope', code: 'unknown_column' },
      '{"a":1': { code: 'malformed_json' },
      '[{"a":1}]': { code: 'malformed_json' },
      '1': { code: 'malformed_json' },
      null: { code: 'malformed_json' },
      '"a"': { code: 'malformed_json' },
      '{"a":1}{"a":2}': { code: 'malformed_json' },
      '{"a":1},': { code: 'malformed_json' },
      'a,b': { code: 'malformed_json' },
    };
    for (const [line, error] of Object.entries(bad)) {
      const answer = await table.send('POST', '', `{"a":1}\n\n{"a":2}\n${line}\n{"a":3}\n`, ndjson);
      expect([line, answer.status, answer.body.code]).toEqual([line, 400, 'validation_failed']);
      expect(answer.body.errors).toEqual([{ line: 4, detail: expect.any(String), ...error }]);
      expect(JSON.stringify(answer.body)).not.toContain('"x"');
    }
    expect(await count(table)).toBe(0);
  });

  test('names the first hundred errors, several of one line, in the order of the lines', async () => {
    const table = await world.table(['a:int', 'b:int']);
    const two = await table.send('POST', '', '{"a":1,"b":1}\n{"a":"x","b":1.5,"c":1}\n{"b":1}', ndjson);
    expect(
      two.body.errors.map(({ line, column }: { line: number; column: string }) => [line, column]),
    ).toEqual([
      [2, 'a'],
      [2, 'b'],
      [2, 'c'],
      [3, 'a'],
    ]);
    const many = await table.send('POST', '', '{"a":"x"}\n'.repeat(5_000), ndjson);
    expect(many.body.errors).toHaveLength(100);
    expect(many.body.errors[99].line).toBe(100);
  });

  test('that breaks a unique constraint stores nothing, and names the line but not the value', async () => {
    const table = await world.table(['a:int', 'email:text']);
    await table.shape('POST', '/indexes', { columns: ['email'], unique: true });
    await table.insert({ a: 0, email: 'there@example.test' });
    const rows = [{ email: 'one' }, { email: 'there@example.test' }, { email: 'two' }];
    const taken = await table.send('POST', '', `\n${lines(rows.map((row) => ({ a: 1, ...row })))}`, ndjson);
    expect([taken.status, taken.body.code]).toEqual([409, 'unique_violation']);
    expect(taken.body.errors).toEqual([
      { line: lineOf(3), column: 'email', code: 'unique_violation', detail: expect.any(String) },
    ]);
    expect(taken.text).not.toContain('there@example.test');
    const within = await table.send(
      'POST',
      '',
      lines([
        { a: 1, email: 'x' },
        { a: 1, email: 'x' },
      ]),
      ndjson,
    );
    expect([within.status, within.body.errors[0].line]).toEqual([409, lineOf(2)]);
    expect(await count(table)).toBe(1);
  });

  test('keeps characters whole wherever the chunks of the body are cut', async () => {
    const table = await world.table(['a:int', 'b:text']);
    const body = Buffer.from(
      lines([
        { a: 1, b: 'ä😀漢' },
        { a: 2, b: '😀'.repeat(50) },
      ]),
    );
    const chunks = Array.from({ length: body.length }, (_, at) => body.subarray(at, at + 1));
    const response = await fetch(world.server.baseUrl + table.path, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.owner.token}`, ...ndjson },
      body: new ReadableStream({
        async pull(controller) {
          const next = chunks.splice(0, 3);
          if (next.length === 0) controller.close();
          else for (const chunk of next) controller.enqueue(chunk);
        },
      }),
    });
    expect(response.status).toBe(201);
    expect((await table.list('?sort=a')).map(({ b }) => b)).toEqual(['ä😀漢', '😀'.repeat(50)]);
  });

  test('whose client goes away in the middle of the body stores nothing', async () => {
    const table = await world.table(['a:int']);
    const { hostname, port } = new URL(world.server.baseUrl);
    const socket = connect({ host: hostname, port: Number(port) });
    await new Promise((resolve) => socket.once('connect', resolve));
    const sent = '{"a":1}\n'.repeat(100);
    socket.write(
      `POST ${table.path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${world.owner.token}\r\n` +
        `Content-Type: application/x-ndjson\r\nContent-Length: ${sent.length * 2}\r\n\r\n${sent}`,
    );
    await new Promise((resolve) => socket.write('{"a":2}\n', resolve));
    socket.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    // A full batch after it succeeds, and succeeds alone.
    await table.batch([{ a: 7 }]);
    expect(await values(table)).toEqual([7]);
  });
});

describe('limits', () => {
  test('10,000 lines are accepted, one more and 100,000 are not', async () => {
    const table = await world.table(['a:int']);
    const most = await table.send('POST', '', '{"a":1}\n'.repeat(10_000), ndjson);
    expect([most.status, most.body.inserted, new Set(most.body.ids).size]).toEqual([201, 10_000, 10_000]);
    for (const lines of [10_001, 100_000]) {
      const more = await table.send('POST', '', '{"a":1}\n'.repeat(lines), ndjson);
      expect([more.status, more.body.code]).toEqual([413, 'payload_too_large']);
    }
    expect(await count(table)).toBe(10_000);
  });

  test('16 MiB are accepted, a byte more is not, and a line may have 1 MiB', async () => {
    const table = await world.table(['b:text:nullable', 'c:text:nullable']);
    const line = `{"b":"${'x'.repeat(1024 * 1024 - 9)}"}\n`;
    expect(line.length).toBe(1024 * 1024);
    const whole = await table.send('POST', '', line.repeat(16), ndjson);
    expect([whole.status, whole.body.inserted]).toEqual([201, 16]);
    const more = await table.send('POST', '', `${line.repeat(16)}\n`, ndjson);
    expect([more.status, more.body.code]).toEqual([413, 'payload_too_large']);
    // Two values of 0.6 MiB in far fewer characters than a MiB.
    for (const long of [
      `{"b":"${'x'.repeat(1024 * 1024)}"}`,
      `{"b":"${'ä'.repeat(3e5)}","c":"${'ä'.repeat(3e5)}"}`,
    ]) {
      const answer = await table.send('POST', '', `{"b":"y"}\n${long}`, ndjson);
      expect([answer.status, answer.body.errors]).toMatchObject([400, [{ line: 2, code: 'too_large' }]]);
      expect((await table.send('POST', '', long)).status).toBe(413);
    }
    expect(await count(table)).toBe(16);
  });

  test('a compressed body is refused before it is decompressed', async () => {
    const table = await world.table(['b:text']);
    const bomb = gzipSync(`{"b":"${'x'.repeat(20_000_000)}"}`);
    for (const encoding of ['gzip', 'br', 'deflate']) {
      const answer = await table.send('POST', '', bomb, { ...ndjson, 'content-encoding': encoding });
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    }
  });

  test('other content types, other charsets and none are refused', async () => {
    const table = await world.table(['a:int']);
    const types = ['text/plain', 'application/json-seq', 'application/x-www-form-urlencoded', 'text/csv', ''];
    types.push(
      'application/jsonx',
      'application/json, application/x-ndjson',
      'application/x-ndjson; charset=latin1',
    );
    for (const type of types) {
      const answer = await table.send('POST', '', Buffer.from('{"a":1}'), { 'content-type': type });
      expect([type, answer.status, answer.body.code]).toEqual([type, 415, 'unsupported_media_type']);
    }
    expect(await count(table)).toBe(0);
  });
});
