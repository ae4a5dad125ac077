import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { type Answered, newPerson, newTenant, type Person } from './support/people.ts';
import type { RunningServer } from './support/server.ts';
import { newApp } from './support/world.ts';

/** A request whose body comes in two halves, with time in between. */
async function inTwoHalves(
  server: RunningServer,
  person: Person,
  { method, path, body }: { method: string; path: string; body: unknown },
  meanwhile: () => Promise<void>,
): Promise<{ status: number; code: string }> {
  const text = JSON.stringify(body);
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  const { promise: closed, resolve, reject } = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  socket.on('error', reject);
  socket.on('close', () => resolve());
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: localhost:${server.port}`,
    `authorization: Bearer ${person.token}`,
    'content-type: application/json',
    `content-length: ${text.length}`,
    'connection: close',
  ];
  const middle = Math.floor(text.length / 2);
  socket.write(`${head.join('\r\n')}\r\n\r\n${text.slice(0, middle)}`);
  // Long enough for the server to have come to the body.
  await Bun.sleep(500);
  expect(chunks).toEqual([]);
  await meanwhile();
  socket.write(text.slice(middle));
  await closed;
  const answer = Buffer.concat(chunks).toString();
  const code = /"code":"(\w+)"/.exec(answer)?.[1] ?? '';
  return { status: Number(answer.slice(9, 12)), code };
}

const confirmed = async (answer: Promise<Answered>) => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
};

/** A private app with a table, for one test. */
async function newPlace() {
  const tenant = await newTenant();
  const member = { tenant: tenant.id, role: 'tenant_member' } as const;
  const [owner, coOwner] = await Promise.all([
    newPerson(tenant.server, member),
    newPerson(tenant.server, member),
  ]);
  const app = await newApp(tenant, { owner, coOwner });
  const tables = `${tenant.base}/apps/${app.id}/tables`;
  await confirmed(owner.call('POST', tables, { name: 'notes', columns: [{ name: 'a', type: 'int' }] }));
  const grants = `${tables}/notes/grants`;
  const grantTo = ({ id }: Person) => ({
    method: 'POST',
    path: grants,
    body: { principal_type: 'user', principal_id: id, actions: ['read'] },
  });
  const granted = async () => (await owner.call('GET', grants)).body.total;
  return { ...tenant, owner, coOwner, app, tables, grantTo, granted };
}

test('a body that takes its time is taken from who still may', async () => {
  const t = await newPlace();
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), async () => {});
  expect([answer.status, await t.granted()]).toEqual([201, 1]);
});

test('a co-owner who is removed while their body is on its way does nothing with it', async () => {
  const t = await newPlace();
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), () =>
    confirmed(t.owner.call('DELETE', `${t.base}/apps/${t.app.id}/co-owners/${t.coOwner.id}`)),
  );
  expect([answer, await t.granted()]).toEqual([{ status: 404, code: 'not_found' }, 0]);
});

test('an owner who is no member any more does nothing either', async () => {
  const t = await newPlace();
  const body = { name: 'more', columns: [{ name: 'a', type: 'int' }] };
  const request = { method: 'POST', path: t.tables, body };
  const answer = await inTwoHalves(t.server, t.owner, request, () =>
    confirmed(t.admin.call('DELETE', `${t.base}/members/${t.owner.id}`)),
  );
  expect(answer.status).toBe(404);
  expect((await t.coOwner.call('GET', t.tables)).body.total).toBe(1);
});

test('an admin who is one no more acts as none', async () => {
  const t = await newPlace();
  const second = await newPerson(t.server, { tenant: t.id, role: 'tenant_admin' });
  const request = {
    method: 'POST',
    path: `${t.base}/connectors`,
    body: { name: 'late', kind: 'http' },
  };
  const answer = await inTwoHalves(t.server, second, request, () =>
    confirmed(t.admin.call('PUT', `${t.base}/members/${second.id}`, { role: 'tenant_member' })),
  );
  expect(answer).toEqual({ status: 403, code: 'forbidden' });
});

test('a login that has ended while its body is on its way is no login', async () => {
  const t = await newPlace();
  const sessions = (await t.coOwner.call('GET', '/api/v1/me/sessions')).body.items;
  const { id } = sessions.find((session: { current: boolean }) => session.current);
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), () =>
    confirmed(t.coOwner.call('DELETE', `/api/v1/me/sessions/${id}`)),
  );
  expect([answer, await t.granted()]).toEqual([{ status: 401, code: 'unauthenticated' }, 0]);
});
