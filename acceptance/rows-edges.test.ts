import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { newPerson } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);

const member = () => newPerson(world.server, { tenant: world.tenant.slug, role: 'tenant_member' });

test('an invalid table name is not found, whether or not the caller sees the app', async () => {
  const stranger = await member();
  const bodies: unknown[] = [];
  for (const path of [`${world.data}/%00`, `/data/${world.tenant.slug}/no-such-app/%00`]) {
    const answer = await stranger.call('GET', path);
    expect([path, answer.status]).toEqual([path, 404]);
    bodies.push({ ...answer.body, request_id: '' });
  }
  expect(bodies[0]).toEqual(bodies[1]);
});

describe('numbered ids', () => {
  test('continue after explicit ids, for one row or many', async () => {
    const table = await world.table(['id:bigint', 'a:int']);
    await table.insert({ id: 1, a: 1 }, { id: 2, a: 1 });
    expect((await table.insert({ a: 1 }))[0].id).toBe(3);
    await table.batch([{ id: 500, a: 1 }, { a: 2 }, { id: 400, a: 1 }]);
    expect((await table.insert({ a: 1 }))[0].id).toBe(501);
    await table.insert({ id: -7, a: 1 });
    expect((await table.insert({ a: 1 }))[0].id).toBe(502);
  });
});

describe('long values', () => {
  test('a list sorted by texts of seven thousand characters can be walked by cursor', async () => {
    const table = await world.table(['t:text', 'n:int']);
    await table.batch(Array.from({ length: 7 }, (_, n) => ({ t: String(n % 3).repeat(7_000), n })));
    const walked: number[] = [];
    let cursor = '';
    for (let pages = 0; pages < 10; pages++) {
      const page = await table.send('GET', `?sort=-t&select=n&per_page=2${cursor && `&cursor=${cursor}`}`);
      expect(page.status).toBe(200);
      walked.push(...page.body.data.map(({ n }: { n: number }) => n));
      if (!page.body.has_more) break;
      cursor = page.body.next_cursor;
      expect(cursor.length).toBeLessThan(1_000);
    }
    expect(walked).toEqual((await table.list('?sort=-t')).map(({ n }) => n));
    expect(new Set(walked).size).toBe(7);
  });

  test('where the row that such a cursor points to is gone, it is refused rather than taken for the end', async () => {
    const table = await world.table(['t:text']);
    await table.batch(Array.from({ length: 3 }, (_, n) => ({ t: String(n).repeat(7_000) })));
    const page = await table.send('GET', '?sort=t&per_page=1');
    await table.send('DELETE', `/${page.body.data[0].id}`);
    const next = await table.send('GET', `?sort=t&per_page=1&cursor=${page.body.next_cursor}`);
    expect([next.status, next.body.code]).toEqual([400, 'invalid_cursor']);
  });

  test('changes cannot make a row longer than the limit', async () => {
    const table = await world.table(['a:text:nullable', 'b:text:nullable', 'c:text:nullable']);
    const [row] = await table.insert({});
    const long = 'x'.repeat(1_000_000);
    const statuses: number[] = [];
    for (const name of ['a', 'b', 'c']) {
      statuses.push((await table.send('PATCH', `/${row.id}`, { [name]: long })).status);
    }
    expect(statuses).toEqual([200, 200, 413]);
    expect((await table.list('?select=c'))[0].c).toBe(null);
  });

  test('a page of more than 32 MiB is refused with advice', async () => {
    const table = await world.table(['t:text']);
    for (let n = 0; n < 36; n++) await table.insert({ t: 'y'.repeat(1_000_000) });
    const page = await table.send('GET', '');
    expect([page.status, page.body.code]).toEqual([413, 'payload_too_large']);
    expect(page.body.detail).toContain('per_page');
    expect((await table.send('GET', '?per_page=30')).status).toBe(200);
  });
});

test('a person who may only write does not get the ids of existing rows', async () => {
  const table = await world.table(['email:text']);
  await table.shape('POST', '/indexes', { columns: ['email'], unique: true });
  await table.insert({ email: 'there' });
  const person = await member();
  const grant = { principal_type: 'user', principal_id: person.id, actions: ['write'] };
  expect((await table.shape('POST', '/grants', grant)).status).toBe(201);
  const send = world.as({ authorization: `Bearer ${person.token}` }, table);
  const answer = await send('POST', '?on_conflict=email', '{"email":"there"}\n', {
    'content-type': 'application/x-ndjson',
    prefer: 'resolution=merge-duplicates',
  });
  expect([answer.status, answer.body]).toEqual([201, { inserted: 0, updated: 1 }]);
});

test('an upsert that breaks a unique column names the line', async () => {
  const table = await world.table(['id:text', 'sku:text']);
  await table.shape('POST', '/indexes', { columns: ['sku'], unique: true });
  await table.insert({ id: 'a', sku: 's1' });
  const lines = [
    '{"id":"b","sku":"s2"}',
    '{"id":"c","sku":"s3"}',
    '{"id":"d","sku":"s1"}',
    '{"id":"e","sku":"s4"}',
  ];
  const answer = await table.send('POST', '?on_conflict=id', lines.join('\n'), {
    'content-type': 'application/x-ndjson',
    prefer: 'resolution=merge-duplicates',
  });
  expect([answer.status, answer.body.code]).toEqual([409, 'unique_violation']);
  expect(answer.body.errors).toEqual([
    { line: 3, column: 'sku', code: 'unique_violation', detail: expect.any(String) },
  ]);
  expect(await table.list('?select=id')).toEqual([{ id: 'a' }]);
});

test('the preferred type in Accept decides between a page and a stream', async () => {
  const table = await world.table(['a:int']);
  const typeFor = async (accept: string) =>
    (await table.send('GET', '', undefined, { accept })).headers.get('content-type');
  expect(await typeFor('application/x-ndjson')).toBe('application/x-ndjson');
  expect(await typeFor('application/json, application/x-ndjson;q=0.5')).toBe('application/json');
  expect(await typeFor('application/x-ndjson;q=0, application/json')).toBe('application/json');
  expect(await typeFor('*/*')).toBe('application/json');
});
