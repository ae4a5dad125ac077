import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { newPerson } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import { rawStream, slowRequest } from './support/sockets.ts';

import { until } from './support/until.ts';

const world = useFixture(rowsWorld);

const json = { 'content-type': 'application/json' };
const member = () => newPerson(world.server, { tenant: world.tenant.slug, role: 'tenant_member' });

async function coOwner() {
  const person = await member();
  const coOwners = `${world.tenant.base}/apps/${world.app.id}/co-owners`;
  await world.owner.call('POST', coOwners, { user_id: person.id });
  return {
    person,
    remove: async () =>
      expect((await world.owner.call('DELETE', `${coOwners}/${person.id}`)).status).toBe(204),
  };
}

describe('access that ends while a request body is sent', () => {
  test('by a token: nothing is stored', async () => {
    const table = await world.table(['a:int']);
    const pats = `${world.tenant.base}/pats`;
    const pat = await world.owner.call('POST', pats, { name: 'late', actions: ['read', 'write'] });
    const headers = { 'x-api-key': pat.body.secret, ...json };
    const sending = slowRequest(world.server, { method: 'POST', path: table.path, headers, body: '{"a":1}' });
    await sending.begun;
    expect((await world.owner.call('DELETE', `${pats}/${pat.body.id}`)).status).toBeLessThan(300);
    const refused = async () =>
      (await world.as({ 'x-api-key': pat.body.secret }, table)('GET')).status === 401;
    await until('the token is refused', refused);
    expect(await sending.finish()).toBe(401);
    expect(await table.list()).toEqual([]);
  });

  test('of a co-owner: one row, many, or a change are refused', async () => {
    const table = await world.table(['a:int']);
    const [row] = await table.insert({ a: 1 });
    for (const [method, path, type, body] of [
      ['POST', '', 'application/json', '{"a":2}'],
      ['POST', '', 'application/x-ndjson', '{"a":2}\n{"a":3}\n'],
      ['PATCH', `/${row.id}`, 'application/json', '{"a":2}'],
    ] as const) {
      const { person, remove } = await coOwner();
      const headers = { authorization: `Bearer ${person.token}`, 'content-type': type };
      const sending = slowRequest(world.server, { method, path: table.path + path, headers, body });
      await sending.begun;
      await remove();
      expect([method, type, await sending.finish()]).toEqual([method, type, 404]);
    }
    expect(await table.list('?select=a')).toEqual([{ a: 1 }]);
  });
});

test('an upsert whose unique constraint is dropped while its body is sent is refused without a 5xx status', async () => {
  const table = await world.table(['email:text']);
  const index = await table.shape('POST', '/indexes', { columns: ['email'], unique: true });
  const sending = slowRequest(world.server, {
    method: 'POST',
    path: `${table.path}?on_conflict=email`,
    headers: {
      authorization: `Bearer ${world.owner.token}`,
      'content-type': 'application/x-ndjson',
      prefer: 'resolution=merge-duplicates',
    },
    body: '{"email":"a"}\n',
  });
  await sending.begun;
  expect((await table.shape('DELETE', `/indexes/${index.body.id}`)).status).toBe(204);
  expect(await sending.finish()).toBe(400);
});

test("an export is cut off when the reader loses access to other people's rows", async () => {
  const table = await world.table(['owner:text', 'body:text'], { owner_column: 'owner' });
  const body = 'x'.repeat(10_000);
  for (let n = 0; n < 3; n++) await table.batch(Array.from({ length: 1_500 }, () => ({ body })));
  const { person, remove } = await coOwner();
  const grant = { principal_type: 'user', principal_id: person.id, actions: ['read'] };
  expect((await table.shape('POST', '/grants', grant)).status).toBe(201);
  const stream = rawStream(world.server, table.path, { authorization: `Bearer ${person.token}` });
  await until('rows come', async () => stream.bytes() > 10_000);
  stream.pause();
  await remove();
  stream.resume();
  expect(await stream.ended).toBe('cut');
});
