import { beforeAll, expect, test } from 'bun:test';
import { admin } from './support/commands.ts';
import { openServerDatabase } from './support/database.ts';
import { type Answered, caller, newApp, newPerson, newTenant, type Tenant } from './support/people.ts';
import { revokeUnderLoad } from './support/revocation.ts';
import { newDirectory, patchOf } from './support/scim.ts';
import { type RunningServer, startBeside, startServer } from './support/server.ts';

const clientsCount = 20;

let t: Tenant;
let first: RunningServer;
/** Another server on the same database: it learns of a removal only through the database. */
let second: RunningServer;

beforeAll(async () => {
  first = await startServer({ env: { SVC_DATABASE_URL: '' } });
  second = await startBeside(first);
  t = await newTenant(first);
});

interface Scenario {
  /** The request that the clients repeat at the second server. */
  ask: () => Promise<Answered>;
  /** Whether the answer is a success; an answer that is neither success nor refusal fails the test. */
  works: (answer: Answered) => boolean;
  refused: (answer: Answered) => boolean;
  /** Takes the right away at the first server; resolves with its confirmation. */
  remove: () => Promise<unknown>;
}

async function endsInTime(name: string, { ask, works, refused, remove }: Scenario): Promise<void> {
  const { successes, refusals, odd, late, lastMs } = await revokeUnderLoad({
    clients: Array.from({ length: clientsCount }, () => [
      async () => {
        const answer = await ask();
        if (works(answer)) return 'works';
        return refused(answer) ? 'refused' : `${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`;
      },
    ]),
    remove,
  });
  console.log(
    `revocation: ${name}: ${successes} successes, the last ${lastMs} ms after the removal; ${refusals} refusals`,
  );
  expect({ late, odd }).toEqual({ late: 0, odd: {} });
}

const atSecond = (credential: Record<string, string>) => caller(second, credential);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const status =
  (...expected: number[]) =>
  (answer: Answered) =>
    expected.includes(answer.status);

async function asPerson(role: 'tenant_member' | 'tenant_admin' = 'tenant_member') {
  const person = await newPerson(first);
  await confirmed(t.admin.call('PUT', `${t.base}/members/${person.id}`, { role }));
  return { person, call: atSecond(bearer(person.token)) };
}

const confirmed = async (answer: Promise<Answered>) => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`It answered ${status}: ${JSON.stringify(body)}`);
};

test('a suspended user loses all access', async () => {
  const { person, call } = await asPerson();
  await endsInTime('user suspended', {
    ask: () => call('GET', '/api/v1/me'),
    works: status(200),
    refused: status(401),
    remove: () => admin(first, ['users', 'suspend', person.id]),
  });
});

test('a new password ends every session of the user', async () => {
  const { person, call } = await asPerson();
  await endsInTime('password set', {
    ask: () => call('GET', `${t.base}/me/grants`),
    works: status(200),
    refused: status(401),
    remove: () =>
      admin(first, ['users', 'set-password', person.id, '--password-stdin'], 'a new password 1\n'),
  });
});

test('an ended session ends its token, and no other', async () => {
  const { person, call } = await asPerson();
  const { access_token: other } = await admin(first, ['tokens', 'issue', '--user', person.id]);
  const sessions = (await person.call('GET', '/api/v1/me/sessions')).body.items;
  const { id } = sessions.find((session: { current: boolean }) => session.current);
  const remaining = atSecond(bearer(other!));
  expect((await remaining('GET', '/api/v1/me')).status).toBe(200);
  await endsInTime('session revoked', {
    ask: () => call('GET', '/api/v1/me'),
    works: status(200),
    refused: status(401),
    remove: () => confirmed(remaining('DELETE', `/api/v1/me/sessions/${id}`)),
  });
  expect((await remaining('GET', '/api/v1/me')).status).toBe(200);
});

test('a login revoked at the OpenID provider ends with its access token', async () => {
  const { secret } = await Bun.file(`${first.dataDir}/local-login.json`).json();
  const form = async (path: string, fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: 'svc-cli', ...fields });
    const answer = await fetch(`${first.baseUrl}/oauth/${path}`, { method: 'POST', body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return text === '' ? {} : JSON.parse(text);
  };
  const tokens = await form('token', {
    grant_type: 'urn:svc:params:oauth:grant-type:local',
    local_secret: secret,
    scope: 'openid offline_access',
  });
  const call = atSecond(bearer(tokens.access_token));
  await endsInTime('login given back', {
    ask: () => call('GET', '/api/v1/me'),
    works: status(200),
    refused: status(401),
    remove: () => form('token/revocation', { token: tokens.refresh_token }),
  });
});

test('a former member sees nothing of the tenant', async () => {
  const { person, call } = await asPerson();
  await endsInTime('member removed', {
    ask: () => call('GET', t.base),
    works: status(200),
    refused: status(404),
    remove: () => confirmed(t.admin.call('DELETE', `${t.base}/members/${person.id}`)),
  });
});

test('a former admin has no admin rights', async () => {
  const { person, call } = await asPerson('tenant_admin');
  await endsInTime('role lowered', {
    ask: () => call('GET', `${t.base}/members`),
    works: status(200),
    refused: status(403),
    remove: () => confirmed(t.admin.call('PUT', `${t.base}/members/${person.id}`, { role: 'tenant_member' })),
  });
});

test('a revoked token for rows is like an unknown one', async () => {
  const pat = (await t.member.call('POST', `${t.base}/pats`, { name: 'rows' })).body;
  const rows = atSecond({ 'x-api-key': pat.secret });
  await endsInTime('token for rows revoked', {
    ask: () => rows('GET', `/data/${t.slug}/shop/orders`),
    works: status(404),
    refused: status(401),
    remove: () => confirmed(t.member.call('DELETE', `${t.base}/pats/${pat.id}`)),
  });
});

test('the tokens for rows of a suspended user end with the user', async () => {
  const { person } = await asPerson();
  const pat = (await person.call('POST', `${t.base}/pats`, { name: 'rows' })).body;
  const rows = atSecond({ 'x-api-key': pat.secret });
  await endsInTime('issuer suspended', {
    ask: () => rows('GET', `/data/${t.slug}/shop/orders`),
    works: status(404),
    refused: status(401),
    remove: () => admin(first, ['users', 'suspend', person.id]),
  });
});

test('a revoked grant allows nothing', async () => {
  const { person, call } = await asPerson();
  const connector = await t.admin.call('POST', `${t.base}/connectors`, { name: 'ends', kind: 'http' });
  const about = { subject_id: person.id, connector_id: connector.body.id };
  const grant = await t.admin.call('POST', `${t.base}/grants`, { ...about, preset_id: 'reader' });
  await endsInTime('grant revoked', {
    ask: () => call('POST', `${t.base}/access/check`, { ...about, action: 'read' }),
    works: (answer) => answer.status === 200 && answer.body.allowed === true,
    refused: (answer) => answer.status === 200 && answer.body.allowed === false,
    remove: () => confirmed(t.admin.call('POST', `${t.base}/grants/${grant.body.id}/revoke`)),
  });
});

/** An app with a table that has one row, and a co-owner. */
async function ownedApp() {
  const [{ person: owner }, coOwner] = [await asPerson(), await asPerson()];
  const app = await newApp(t, { owner, coOwner: coOwner.person });
  const path = `${t.base}/apps/${app.id}`;
  await confirmed(owner.call('POST', `${path}/tables`, { name: 'notes', columns: ['text:text'] }));
  const rows = `/data/${t.slug}/${app.slug}/notes`;
  await confirmed(owner.call('POST', rows, { text: 'one' }));
  return { owner, coOwner, app, path, rows };
}

test('a removed co-owner loses the rights of owners, and their tokens lose the rows', async () => {
  const { owner, coOwner, path, rows } = await ownedApp();
  const pat = (await coOwner.person.call('POST', `${t.base}/pats`, { name: 'rows' })).body;
  // Rows at the first server: the second may not read the tables of another server's embedded database.
  const byToken = caller(first, { 'x-api-key': pat.secret });
  let turn = 0;
  await endsInTime('co-owner removed', {
    ask: () => (turn++ % 2 === 0 ? coOwner.call('GET', `${path}/co-owners`) : byToken('GET', rows)),
    works: status(200),
    refused: status(404),
    remove: () => confirmed(owner.call('DELETE', `${path}/co-owners/${coOwner.person.id}`)),
  });
});

test('a former owner keeps only the rights of a co-owner', async () => {
  const { owner, coOwner, path, rows } = await ownedApp();
  const call = atSecond(bearer(owner.token));
  await endsInTime('ownership transferred', {
    // As a preview; only the owner may run it, and gets "no such person".
    ask: () => call('POST', `${path}/co-owners?dry_run=true`, { user_id: 'nobody' }),
    works: status(400),
    refused: status(403),
    remove: () => confirmed(owner.call('POST', `${path}/ownership/transfer`, { to: coOwner.person.id })),
  });
  expect((await call('GET', `${path}/co-owners`)).status).toBe(200);
  expect((await owner.call('GET', rows)).status).toBe(200);
});

test('a removed member does not see an invite-only app', async () => {
  const { owner, app, path } = await ownedApp();
  const { person, call } = await asPerson();
  const database = openServerDatabase(first);
  await database.query("update svc.apps set visibility = 'invite_only' where id = $1", [app.id]);
  await database.close();
  await confirmed(owner.call('POST', `${path}/members`, { user_id: person.id }));
  await endsInTime('member of an app removed', {
    ask: () => call('GET', path),
    works: status(200),
    refused: status(404),
    remove: () => confirmed(owner.call('DELETE', `${path}/members/${person.id}`)),
  });
});

test('a person whom the directory deactivates loses session and token for rows', async () => {
  const directory = await newDirectory(t);
  for (const credential of ['login', 'pat'] as const) {
    const { person, call } = await asPerson();
    const pat = (await person.call('POST', `${t.base}/pats`, { name: 'rows' })).body;
    const rows = atSecond({ 'x-api-key': pat.secret });
    const isPat = credential === 'pat';
    const operation = { op: 'Replace', path: 'active', value: 'False' };
    await endsInTime(`deactivated (${credential})`, {
      ask: () => (isPat ? rows('GET', `/data/${t.slug}/shop/orders`) : call('GET', '/api/v1/me')),
      works: status(isPat ? 404 : 200),
      refused: status(401),
      remove: () => directory.done('PATCH', `/Users/${person.id}`, patchOf(operation)),
    });
  }
});

test('a member who leaves a group loses what it opened', async () => {
  const { owner, app, path, rows } = await ownedApp();
  const { person } = await asPerson();
  const group = (await t.admin.call('POST', `${t.base}/groups`, { name: `g-${app.id.slice(-12)}` })).body;
  const members = `${t.base}/groups/${group.id}/members`;
  const grant = { principal_type: 'group', principal_id: group.id, actions: ['read'] };
  await confirmed(owner.call('POST', `${path}/tables/${rows.split('/').at(-1)}/grants`, grant));
  await confirmed(t.admin.call('POST', members, { user_id: person.id }));
  await endsInTime('left a group', {
    // Rows at the first server, as above.
    ask: () => person.call('GET', rows),
    works: status(200),
    refused: status(404),
    remove: () => confirmed(t.admin.call('DELETE', `${members}/${person.id}`)),
  });
});
