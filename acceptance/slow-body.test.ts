import { expect, test } from 'bun:test';
import { type Answered, newApp, newPerson, newTenant, type Person } from './support/people.ts';
import type { RunningServer } from './support/server.ts';
import { slowRequest } from './support/sockets.ts';

/** A call whose body comes in two halves; the status of its answer. */
async function inTwoHalves(
  server: RunningServer,
  { token }: Person,
  { method, path, body }: { method: string; path: string; body: unknown },
  meanwhile: () => Promise<void>,
): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sending = slowRequest(server, { method, path, headers, body: JSON.stringify(body) });
  await sending.begun;
  // Long enough for the server to authorize the caller and wait for the rest.
  await Bun.sleep(500);
  await meanwhile();
  return sending.finish();
}

const confirmed = async (answer: Promise<Answered>) => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
};

/** A private app with a table, for one test. */
async function newAppWithTable() {
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

test('a slow body is accepted while its sender has access', async () => {
  const t = await newAppWithTable();
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), async () => {});
  expect([answer, await t.granted()]).toEqual([201, 1]);
});

test('a co-owner who is removed while their body is sent changes nothing', async () => {
  const t = await newAppWithTable();
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), () =>
    confirmed(t.owner.call('DELETE', `${t.base}/apps/${t.app.id}/co-owners/${t.coOwner.id}`)),
  );
  expect([answer, await t.granted()]).toEqual([404, 0]);
});

test('an owner who is removed from the tenant changes nothing', async () => {
  const t = await newAppWithTable();
  const body = { name: 'more', columns: [{ name: 'a', type: 'int' }] };
  const request = { method: 'POST', path: t.tables, body };
  const answer = await inTwoHalves(t.server, t.owner, request, () =>
    confirmed(t.admin.call('DELETE', `${t.base}/members/${t.owner.id}`)),
  );
  expect(answer).toBe(404);
  expect((await t.coOwner.call('GET', t.tables)).body.total).toBe(1);
});

test('an admin who loses the role has no admin rights', async () => {
  const t = await newAppWithTable();
  const second = await newPerson(t.server, { tenant: t.id, role: 'tenant_admin' });
  const request = {
    method: 'POST',
    path: `${t.base}/connectors`,
    body: { name: 'late', kind: 'http' },
  };
  const answer = await inTwoHalves(t.server, second, request, () =>
    confirmed(t.admin.call('PUT', `${t.base}/members/${second.id}`, { role: 'tenant_member' })),
  );
  expect(answer).toBe(403);
});

test('a login that ends while its body is sent is refused', async () => {
  const t = await newAppWithTable();
  const sessions = (await t.coOwner.call('GET', '/api/v1/me/sessions')).body.items;
  const { id } = sessions.find((session: { current: boolean }) => session.current);
  const answer = await inTwoHalves(t.server, t.coOwner, t.grantTo(t.coOwner), () =>
    confirmed(t.coOwner.call('DELETE', `/api/v1/me/sessions/${id}`)),
  );
  expect([answer, await t.granted()]).toEqual([401, 0]);
});
