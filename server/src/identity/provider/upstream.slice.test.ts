import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { findAuditBreaks } from '../../core/audit-verify.ts';
import { loadMemberAttributes } from '../../people/tenants/member-attributes.ts';
import { createUser, type UserRecord } from '../../people/users/users.ts';
import { newTenant, type TestDatabase, testCaller, testDatabase, testMutation } from '../../testing.ts';
import type { TestBrowser, Visit } from './browser-testing.ts';
import {
  newUser,
  openTestServer,
  startTestProvider,
  type TestProvider,
  testPassword,
} from './provider-testing.ts';
import { readAttributes, readGroups } from './upstream-client.ts';

// Two of our own providers: accounts exist at `outside`, and users sign in to `inside` with them. Different
// host names, because cookies are separated by host.
let outsideDb: TestDatabase;
let insideDb: TestDatabase;
let outside: TestProvider;
let inside: TestProvider;

beforeAll(async () => {
  [outsideDb, insideDb] = [await testDatabase(), await testDatabase()];
  const [outsideServer, insideServer] = [openTestServer('localhost'), openTestServer()];
  const secret = 'a secret between the two';
  outside = await startTestProvider(
    outsideDb,
    {
      extraClients: [
        {
          client_id: 'inside',
          client_name: 'The inside',
          client_secret: secret,
          redirect_uris: [`${insideServer.baseUrl}/oauth/upstream/callback`],
        },
      ],
    },
    outsideServer,
  );
  const issuer = `${outsideServer.baseUrl}/oauth`;
  const upstream = {
    issuer,
    clientId: 'inside',
    clientSecret: secret,
    name: 'Outside Inc.',
    // A claim that this provider sends: the person's name stands for their group.
    groupsClaim: 'name',
    attributeClaims: { mail: 'email', region: 'no_such_claim' },
  };
  inside = await startTestProvider(insideDb, { upstream }, insideServer);
});
afterAll(async () => {
  await inside.stop();
  await outside.stop();
  await insideDb.close();
  await outsideDb.close();
});

const linksOf = async (subject: string) =>
  (
    await sql<{ issuer: string; user_id: string }>`
    select issuer, user_id from svc.user_links where subject = ${subject}`.execute(insideDb.db)
  ).rows;

test('a new upstream user becomes a user without a tenant, and the same user the next time', async () => {
  const person = await newUser(outsideDb);
  const browser = inside.browser();
  const done = await signInOutside(browser, person, '/there');
  expect(done.url).toBe(`${inside.baseUrl}/there`);
  const [link] = await linksOf(person.id);
  expect(link?.issuer).toBe(`${outside.baseUrl}/oauth`);
  expect(await sessionUser(browser)).toBe(link?.user_id ?? '');
  const { rows } =
    await sql`select email, password_hash, status from svc.users where id = ${link?.user_id}`.execute(
      insideDb.db,
    );
  expect(rows).toEqual([{ email: person.email, password_hash: null, status: 'active' }]);
  expect(
    (await sql`select 1 from svc.memberships where user_id = ${link?.user_id}`.execute(insideDb.db)).rows,
  ).toEqual([]);

  const again = inside.browser();
  await signInOutside(again, person);
  expect(await sessionUser(again)).toBe(link?.user_id ?? '');
  expect((await linksOf(person.id)).length).toBe(1);
});

test('a new upstream user who signs in in two tabs becomes one user', async () => {
  const person = await newUser(outsideDb);
  const browsers = [inside.browser(), inside.browser(), inside.browser()];
  const callbacks = await Promise.all(browsers.map((browser) => toCallback(browser, person)));
  await Promise.all(browsers.map((browser, index) => browser.open(callbacks[index]?.location ?? '')));
  const [link] = await linksOf(person.id);
  for (const browser of browsers) expect(await sessionUser(browser)).toBe(link?.user_id ?? '');
});

test('a name with invisible characters, or one that is too long, is cleaned and not refused', async () => {
  for (const [name, stored] of [
    ['Ada\u202e\u200b Love\u0007lace', 'Ada Lovelace'],
    ['x'.repeat(300), 'x'.repeat(200)],
  ]) {
    const person = await newUser(outsideDb);
    await sql`update svc.users set name = ${name} where id = ${person.id}`.execute(outsideDb.db);
    await signInOutside(inside.browser(), person);
    const [link] = await linksOf(person.id);
    const { rows } = await sql`select name from svc.users where id = ${link?.user_id}`.execute(insideDb.db);
    expect(rows).toEqual([{ name: stored }]);
  }
});

test('the new user is audited', async () => {
  const person = await newUser(outsideDb);
  await signInOutside(inside.browser(), person);
  const [link] = await linksOf(person.id);
  const { rows } = await sql<{ action: string }>`
    select action from svc.audit_entries where target_id = ${link?.user_id} order by seq`.execute(
    insideDb.db,
  );
  expect(rows.map((row) => row.action)).toEqual(['users.create', 'users.link', 'account.sign_in']);
  expect(await findAuditBreaks(insideDb.db)).toEqual([]);
});

test('an e-mail address that is in use is not linked', async () => {
  const person = await newUser(outsideDb);
  const { value: victim } = await testMutation(insideDb.db, testCaller({ kind: 'operator' }), (ctx) =>
    createUser(ctx, { email: person.email.toUpperCase(), password: testPassword }),
  );
  const browser = inside.browser();
  const refused = await signInOutside(browser, person);
  expect(refused.status).toBe(409);
  expect(refused.html).toContain('This e-mail address is in use');
  expect(await linksOf(person.id)).toEqual([]);
  expect(await sessionUser(browser)).toBeNull();
  const login = await browser.open(/href="([^"]*)">Back to sign-in/.exec(refused.html)?.[1] ?? '');
  await browser.submit(login, '/login', { email: person.email, password: testPassword });
  expect(await sessionUser(browser)).toBe(victim.id);
});

test('a suspended user is refused', async () => {
  const person = await newUser(outsideDb);
  await signInOutside(inside.browser(), person);
  const [link] = await linksOf(person.id);
  await sql`update svc.users set status = 'suspended' where id = ${link?.user_id}`.execute(insideDb.db);
  const browser = inside.browser();
  const refused = await signInOutside(browser, person);
  expect(refused.status).toBe(403);
  expect(refused.html).toContain('This account is suspended');
  expect(await sessionUser(browser)).toBeNull();
});

test('a callback from another browser, or without a sign-in, signs nobody in', async () => {
  const person = await newUser(outsideDb);
  const attacker = inside.browser();
  const last = await toCallback(attacker, person);
  const callback = new URL(last.location ?? '');
  const victim = inside.browser();
  await victim.open('/login');
  const refused = await victim.open(callback.href);
  expect(refused.status).toBe(400);
  expect(await sessionUser(victim)).toBeNull();
  const forged = new URL(callback);
  forged.searchParams.set('state', 'x'.repeat(43));
  expect((await attacker.open(forged.href)).status).toBe(400);
  await attacker.open(callback.href);
  expect(await sessionUser(attacker)).not.toBeNull();
  expect((await attacker.open(callback.href)).status).toBe(400);
});

test('a callback for another client, or a forged one, is refused', async () => {
  const person = await newUser(outsideDb);
  const browser = inside.browser();
  const callback = new URL((await toCallback(browser, person)).location ?? '');
  callback.searchParams.set('code', 'made-up');
  const refused = await browser.open(callback.href);
  expect(refused.status).toBe(400);
  expect(refused.html).toContain('sent an invalid response');
});

test('a user who cancels at the upstream provider returns to the sign-in', async () => {
  const person = await newUser(outsideDb);
  const browser = inside.browser();
  const consent = await toConsent(browser, person);
  const cancelled = await browser.submit(consent, '/abort');
  expect(cancelled.status).toBe(403);
  expect(cancelled.html).toContain('The sign-in was cancelled');
});

test('an unavailable upstream provider gives an error page and is retried on the next sign-in', async () => {
  const awayServer = openTestServer('localhost');
  const upstream = {
    issuer: `${awayServer.baseUrl}/oauth`,
    clientId: 'x',
    clientSecret: 'y',
    name: 'Away Ltd',
    groupsClaim: null,
    attributeClaims: {},
  };
  await awayServer.stop();
  const lonely = await startTestProvider(insideDb, { upstream });
  const browser = lonely.browser();
  const login = await browser.open('/login');
  expect(login.html).toContain('Continue with Away Ltd');
  const page = await browser.open(`${new URL(login.url).pathname}/upstream`);
  expect(page.status).toBe(503);
  expect(page.headers.get('retry-after')).toBe('5');
  expect(page.html).toContain('Away Ltd is unavailable');
  expect(page.html).toContain('<code>test</code>');
  await lonely.stop();
});

const isCallback = (url: URL) => url.pathname === '/oauth/upstream/callback';

async function signInOutside(browser: TestBrowser, person: UserRecord, returnTo = '/'): Promise<Visit> {
  return browser.submit(await toConsent(browser, person, returnTo), '/confirm');
}

async function toCallback(browser: TestBrowser, person: UserRecord): Promise<Visit> {
  return browser.submit(await toConsent(browser, person), '/confirm', {}, isCallback);
}

async function toConsent(browser: TestBrowser, person: UserRecord, returnTo = '/'): Promise<Visit> {
  const here = await browser.open(`/login?return_to=${encodeURIComponent(returnTo)}`);
  expect(here.html).toContain('Continue with Outside Inc.');
  const there = await browser.open(`${new URL(here.url).pathname}/upstream`);
  expect(new URL(there.url).origin).toBe(outside.baseUrl);
  const consent = await browser.submit(there, '/login', { email: person.email, password: testPassword });
  expect(consent.html).toContain('Allow The inside?');
  return consent;
}

async function sessionUser(browser: TestBrowser): Promise<string | null> {
  const cookie = browser.cookies.find(({ name, host }) => name === 'svc_session' && host === '127.0.0.1');
  if (!cookie) return null;
  const { rows } = await sql<{ user_id: string | null }>`
    select user_id from svc.oauth_models where kind = 'Session' and id_hash = encode(sha256(${cookie.value}::text::bytea), 'hex')`.execute(
    insideDb.db,
  );
  return rows[0]?.user_id ?? null;
}

describe('groups that follow a claim', () => {
  const groupsOf = async (userId: string) =>
    (
      await sql<{ display_name: string; source: string }>`
      select g.display_name, g.source from svc.group_members m join svc.groups g on g.id = m.group_id
      where m.user_id = ${userId} order by 1`.execute(insideDb.db)
    ).rows.map(({ display_name, source }) => `${display_name} (${source})`);
  const rename = (person: { id: string }, name: string) =>
    sql`update svc.users set name = ${name} where id = ${person.id}`.execute(outsideDb.db);

  test('are replaced at each sign-in, in every tenant of the person, and others stay', async () => {
    const person = await newUser(outsideDb);
    await rename(person, 'Engineering & Ops');
    await signInOutside(inside.browser(), person);
    const userId = (await linksOf(person.id))[0]?.user_id ?? '';
    expect(await groupsOf(userId)).toEqual([]);
    const { tenant } = await newTenant(insideDb.db);
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${tenant.id}, ${userId}, 'tenant_member', now())`.execute(insideDb.db);
    await sql`insert into svc.groups (id, tenant_id, name, display_name, source, created_at, updated_at)
      values (${tenant.id}, ${tenant.id}, 'local', 'Local', 'local', now(), now())`.execute(insideDb.db);
    await sql`insert into svc.group_members (tenant_id, group_id, user_id, created_at)
      values (${tenant.id}, ${tenant.id}, ${userId}, now())`.execute(insideDb.db);

    await signInOutside(inside.browser(), person);
    expect(await groupsOf(userId)).toEqual(['Engineering & Ops (claim)', 'Local (local)']);
    await rename(person, 'Sales');
    await signInOutside(inside.browser(), person);
    expect(await groupsOf(userId)).toEqual(['Local (local)', 'Sales (claim)']);
    await rename(person, 'Engineering & Ops');
    await signInOutside(inside.browser(), person);
    expect(await groupsOf(userId)).toEqual(['Engineering & Ops (claim)', 'Local (local)']);
    const { rows } = await sql<{ name: string }>`
      select name from svc.groups where tenant_id = ${tenant.id} order by 1`.execute(insideDb.db);
    expect(rows.map(({ name }) => name)).toEqual(['engineering-ops', 'local', 'sales']);
    expect(await findAuditBreaks(insideDb.db)).toEqual([]);
  });

  test('are read from a text or a list; a reference elsewhere leaves them as they are', () => {
    expect(readGroups({ groups: ['a', 4, '', ' ', 'a\u200b', 'a\u202eb', 'b'] }, 'groups')).toEqual([
      'a',
      'b',
    ]);
    expect(readGroups({ groups: 'a' }, 'groups')).toEqual(['a']);
    expect(readGroups({}, 'groups')).toEqual([]);
    expect(readGroups({ _claim_names: { groups: 'src1' } }, 'groups')).toBeNull();
  });
});

test('attributes of members follow claims at each sign-in; others stay', async () => {
  const person = await newUser(outsideDb);
  await signInOutside(inside.browser(), person);
  const userId = (await linksOf(person.id))[0]?.user_id ?? '';
  const { tenant } = await newTenant(insideDb.db);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at, attributes)
    values (${tenant.id}, ${userId}, 'tenant_member', now(), '{"region": "eu", "team": "blue"}')`.execute(
    insideDb.db,
  );
  await signInOutside(inside.browser(), person);
  expect(await loadMemberAttributes(insideDb.db, tenant.id, userId)).toEqual({
    mail: person.email,
    team: 'blue',
  });
  const claims = { a: 'text', b: 'number', c: 'list', d: 'long', e: 'none' };
  const profile = { text: 'eu', number: 7, list: ['eu'], long: 'x'.repeat(257) };
  expect(readAttributes(profile, claims)).toEqual({ a: 'eu', b: '7', c: '', d: '', e: '' });
});

describe('a user whom a directory created', () => {
  const provision = async (email: string, externalId: string, password: string | null = null) => {
    const { tenant } = await newTenant(insideDb.db);
    const id = Bun.randomUUIDv7();
    await sql`insert into svc.users (id, email, name, created_at, provisioned_by, password_hash)
      values (${id}, ${email}, 'Ada', now(), ${tenant.id}, ${password})`.execute(insideDb.db);
    await join(tenant.id, id, externalId);
    return id;
  };
  const join = async (tenantId: string, id: string, externalId: string | null) => {
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${tenantId}, ${id}, 'tenant_member', now())`.execute(insideDb.db);
    if (externalId === null) return;
    await sql`insert into svc.scim_users (tenant_id, user_id, user_name, external_id, attributes, updated_at)
      values (${tenantId}, ${id}, ${id}, ${externalId}, '{}', now())`.execute(insideDb.db);
  };

  test('is linked at the first sign-in by the id that directory and provider share', async () => {
    const person = await newUser(outsideDb);
    const id = await provision(`other-${person.email}`, person.id);
    const browser = inside.browser();
    await signInOutside(browser, person);
    expect(await sessionUser(browser)).toBe(id);
    expect((await linksOf(person.id)).map(({ user_id }) => user_id)).toEqual([id]);
  });

  test('is not linked if the account can be signed in to already', async () => {
    const person = await newUser(outsideDb);
    const id = await provision(person.email, person.id, 'a hash');
    const browser = inside.browser();
    expect((await signInOutside(browser, person)).status).toBe(409);
    expect(await sessionUser(browser)).not.toBe(id);
  });

  test('is not linked by the id that the directory of another tenant has for them', async () => {
    for (const hasLeft of [false, true]) {
      const [attacker, owner] = [await newUser(outsideDb), await newUser(outsideDb)];
      const id = await provision(`other-${owner.email}`, owner.id);
      // Without the membership, its directory has no other id for them.
      if (hasLeft) await sql`delete from svc.memberships where user_id = ${id}`.execute(insideDb.db);
      const { tenant } = await newTenant(insideDb.db);
      await join(tenant.id, id, attacker.id);
      const browser = inside.browser();
      await signInOutside(browser, attacker);
      expect([hasLeft, await sessionUser(browser)]).not.toEqual([hasLeft, id]);
      expect((await linksOf(attacker.id)).map(({ user_id }) => user_id)).not.toContain(id);
    }
  });

  test('is not linked by the id of their directory once another tenant relies on the address', async () => {
    for (const known of [null, 'the id in the other directory']) {
      const attacker = await newUser(outsideDb);
      const id = await provision(`squatted-${attacker.email}`, attacker.id);
      const { tenant } = await newTenant(insideDb.db);
      await join(tenant.id, id, known);
      const browser = inside.browser();
      await signInOutside(browser, attacker);
      expect(await sessionUser(browser)).not.toBe(id);
    }
    const person = await newUser(outsideDb);
    const id = await provision(`other-${person.email}`, person.id);
    await join((await newTenant(insideDb.db)).tenant.id, id, person.id);
    const browser = inside.browser();
    await signInOutside(browser, person);
    expect(await sessionUser(browser)).toBe(id);
  });
});
