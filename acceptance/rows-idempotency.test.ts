import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { countRows, ndjson, rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);

describe('Idempotency-Key', () => {
  const key = () => ({ 'idempotency-key': crypto.randomUUID() });

  test('replays the response of one row and of a batch, and stores once', async () => {
    const table = await world.table(['a:int']);
    for (const [body, type] of [
      ['{"a":1}', 'application/json'],
      ['{"a":1}\n{"a":2}\n', 'application/x-ndjson'],
    ] as const) {
      const headers = { ...key(), 'content-type': type };
      const before = await countRows(table);
      const first = await table.send('POST', '', body, headers);
      const again = await table.send('POST', '', body, headers);
      expect([again.status, again.text]).toEqual([201, first.text]);
      for (const name of ['etag', 'location', 'content-type'])
        expect(again.headers.get(name)).toBe(first.headers.get(name));
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
      expect((await countRows(table)) - before).toBe(body.match(/a/g)?.length ?? 0);
    }
  });

  test('with another body, another query or another table is 422', async () => {
    const table = await world.table(['a:int']);
    const other = await world.table(['a:int']);
    const headers = key();
    expect((await table.send('POST', '', { a: 1 }, headers)).status).toBe(201);
    for (const attempt of [
      () => table.send('POST', '', { a: 2 }, headers),
      () => table.send('POST', '', '{"a":1}', { ...headers, prefer: 'resolution=merge-duplicates' }),
      () => other.send('POST', '', { a: 1 }, headers),
    ]) {
      const answer = await attempt();
      expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_mismatch']);
    }
    expect([await countRows(table), await countRows(other)]).toEqual([1, 0]);
  });

  test('of a refused request is free again, and a key belongs to one person', async () => {
    const table = await world.table(['a:int']);
    const headers = key();
    expect((await table.send('POST', '', { a: 'x' }, headers)).status).toBe(400);
    expect((await table.send('POST', '', { a: 1 }, headers)).status).toBe(201);
    const member = {
      principal_type: 'user',
      principal_id: world.tenant.admin.id,
      actions: ['read', 'write'],
    };
    expect((await table.shape('POST', '/grants', member)).status).toBe(201);
    const admin = world.as({ authorization: `Bearer ${world.tenant.admin.token}` }, table);
    expect((await admin('POST', '', { a: 2 }, headers)).status).toBe(201);
    for (const bad of ['', 'x'.repeat(256)]) {
      const answer = await table.send('POST', '', { a: 1 }, { 'idempotency-key': bad });
      expect([bad.length, answer.status]).toEqual([bad.length, 400]);
    }
  });

  test('sent many times in parallel stores once; the others get the replay or a conflict', async () => {
    const table = await world.table(['a:int']);
    const headers = { ...ndjson, ...key() };
    const body = '{"a":1}\n'.repeat(2_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => table.send('POST', '', body, headers)));
    for (const { status, body } of answers) {
      expect([201, 409]).toContain(status);
      if (status === 409) expect(body.code).toBe('idempotency_in_progress');
    }
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
    expect(await countRows(table)).toBe(2_000);
  });
});
