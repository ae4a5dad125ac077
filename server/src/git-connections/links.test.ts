import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { sql } from 'kysely';
import { startBuiltIn } from '../drivers/git-host/testing/built-in-world.ts';
import { githubWorld } from '../drivers/git-host/testing/github-world.ts';
import { codeOf, newTenant, type TestDatabase, testDatabase } from '../testing.ts';
import { callAs, type GitWorld, gitWorld } from './testing.ts';
import { userTokenOf } from './user-token-of.ts';

setDefaultTimeout(30_000);
let database: TestDatabase;
let github: Awaited<ReturnType<typeof githubWorld>>;
beforeAll(async () => {
  database = await testDatabase();
  github = await githubWorld();
});
afterAll(async () => {
  await github.stop();
  await database.close();
});
beforeEach(() => {
  github.server.instead = null;
});

const world = (set: { now?: () => Date } = {}) => gitWorld(database, github.host, set);
const start = async ({ call }: GitWorld) => (await call('POST', '/git-host/link')).body;
const poll = ({ call }: GitWorld, device_code: string, by = undefined as never) =>
  call('POST', '/git-host/link/poll', { device_code }, by);

async function link(made: GitWorld): Promise<void> {
  const begun = await start(made);
  await github.approve(begun.user_code);
  const { body } = await poll(made, begun.device_code);
  if (body.status !== 'linked') throw new Error(JSON.stringify(body));
}
const rowOf = async ({ tenant }: GitWorld) =>
  (await sql<{ id: string }>`select * from svc.git_links where tenant_id = ${tenant.id}`.execute(database.db))
    .rows;

describe('linking an account', () => {
  test('a code of the host is handed on sealed, approved there, and the account is linked then', async () => {
    const made = await world();
    const begun = await made.call('POST', '/git-host/link');
    expect([begun.status, begun.body]).toEqual([
      201,
      {
        ...{ device_code: expect.stringMatching(/^[\w-]{100,}$/), user_code: expect.any(String) },
        ...{ verification_uri: `${github.host.webUrl}/login/device`, interval_seconds: 5 },
        expires_at: expect.any(String),
      },
    ]);
    for (const code of github.server.codes.byCode.keys()) expect(begun.body.device_code).not.toContain(code);
    expect(await rowOf(made)).toEqual([]);
    const waiting = await poll(made, begun.body.device_code);
    expect([waiting.status, waiting.body]).toEqual([
      200,
      { status: 'pending', interval_seconds: 5, next_poll_at: expect.any(String), account: null },
    ]);
    const early = await poll(made, begun.body.device_code);
    expect([early.body.status, early.body.interval_seconds]).toEqual(['slow_down', 10]);
    const inTen = new Date(early.body.next_poll_at).getTime() - Date.now();
    expect(inTen).toBeWithin(8_000, 10_001);
    await github.approve(begun.body.user_code);
    const done = await poll(made, begun.body.device_code);
    expect(done.body).toMatchObject({ status: 'linked', account: { login: 'octocat', kind: 'user' } });
    expect((await made.call('GET', '/git-host/accounts')).body).toEqual({
      ...{ items: [done.body.account], page: 1, per_page: 50, total: 1 },
    });
    expect(await userTokenOf(made.parts, who(made))).toStartWith('ghu_');
    // It counts once.
    expect((await poll(made, begun.body.device_code)).body.code).toBe('not_found');
  });

  test('a code that is denied, late, forged or unknown links nothing', async () => {
    const made = await world();
    const denied = await start(made);
    await github.deny(denied.user_code);
    expect((await poll(made, denied.device_code)).body.code).toBe('access_denied');
    const late = await start(made);
    await github.expire(late.user_code);
    expect((await poll(made, late.device_code)).body.code).toBe('device_code_expired');
    for (const code of ['x', 'x'.repeat(200), late.device_code.slice(0, -2), `${late.device_code}AA`])
      expect([code, (await poll(made, code)).body.code]).toEqual([code, 'not_found']);
    expect(await rowOf(made)).toEqual([]);
  });

  test('a code is late by our own clock too, and the host is not asked then', async () => {
    let skipped = 0;
    const made = await world({ now: () => new Date(Date.now() + skipped) });
    const begun = await start(made);
    await github.approve(begun.user_code);
    skipped = 16 * 60_000;
    const before = github.server.asked.length;
    expect((await poll(made, begun.device_code)).body.code).toBe('device_code_expired');
    expect(github.server.asked.length).toBe(before);
  });

  test('a code counts for who began with it and in that tenant: nobody else gets anything by it', async () => {
    const made = await world();
    const begun = await start(made);
    await github.approve(begun.user_code);
    const other = await newTenant(database.db);
    const before = github.server.asked.length;
    const path = { method: 'POST', path: '/git-host/link/poll', body: { device_code: begun.device_code } };
    const tries = [
      { by: made.people.member, tenant: made.tenant },
      { by: made.people.admin, tenant: made.tenant },
      { by: made.people.owner, tenant: other.tenant },
      { by: other.member, tenant: other.tenant },
    ];
    for (const as of tries) {
      const { status, body } = await callAs(database, made.parts, as, path);
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
    expect(github.server.asked.length).toBe(before);
    expect((await poll(made, begun.device_code)).body.status).toBe('linked');
  });

  test('a preview asks the host nothing, and says what is to come', async () => {
    const made = await world();
    const begun = await start(made);
    const before = github.server.asked.length;
    const first = await made.call('POST', '/git-host/link?dry_run=true');
    expect(first.body.plan.changes.map(({ path }: { path: string }) => path)).toEqual([
      'host',
      'code_asked_at',
    ]);
    const body = { device_code: begun.device_code };
    const second = await made.call('POST', '/git-host/link/poll?dry_run=true', body);
    expect(second.body.plan.changes).toContainEqual({
      ...{ path: 'host', before: null, after: github.host.webUrl, effect: 'create' },
    });
    expect([github.server.asked.length, await rowOf(made)]).toEqual([before, []]);
  });

  test('another account takes the place of the one before, and an account is forgotten on demand', async () => {
    const made = await world();
    await link(made);
    await link(made);
    const { items } = (await made.call('GET', '/git-host/accounts')).body;
    expect(items).toHaveLength(1);
    const path = `/git-host/accounts/${items[0].id}`;
    expect((await made.call('DELETE', path, undefined, made.people.member)).status).toBe(404);
    expect((await made.call('DELETE', path)).status).toBe(204);
    expect((await made.call('DELETE', path)).status).toBe(404);
    expect((await made.call('GET', '/git-host/installations')).body.code).toBe('git_account_required');
  });

  test('tokens and codes stand in no row as they are', async () => {
    const made = await world();
    await link(made);
    const token = await userTokenOf(made.parts, who(made));
    const { rows } = await sql<{ text: string }>`
      select (select string_agg(l::text, '') from svc.git_links l)
        || (select string_agg(a::text, '') from svc.audit_entries a) as text`.execute(database.db);
    expect(rows[0]?.text).not.toContain(token);
    expect(rows[0]?.text).not.toContain(Buffer.from(token).toString('hex'));
  });
});

const who = ({ tenant, people }: GitWorld) => ({ tenantId: tenant.id, userId: people.owner.userId });

describe('the token of an account', () => {
  test('is renewed where it has expired, once for all who need it at the same time', async () => {
    const made = await world();
    await link(made);
    const before = await userTokenOf(made.parts, who(made));
    await sql`update svc.git_links set token_expires_at = now() - interval '1 minute'
      where tenant_id = ${made.tenant.id}`.execute(database.db);
    const asked = github.server.asked.length;
    const tokens = await Promise.all(Array.from({ length: 8 }, () => userTokenOf(made.parts, who(made))));
    expect([new Set(tokens).size, tokens[0] === before]).toEqual([1, false]);
    expect(github.server.asked.slice(asked)).toEqual(['POST /login/oauth/access_token']);
    expect(await userTokenOf(made.parts, who(made))).toBe(tokens[0] ?? '');
  });

  test('is renewed where the host does not take it any more; without that the account has to be linked anew', async () => {
    const made = await world();
    await link(made);
    // As if it had been taken back there: the host knows neither.
    const refused = await userTokenOf(made.parts, who(made));
    const renewed = await userTokenOf(made.parts, who(made), { refused });
    expect(renewed).not.toBe(refused);
    github.server.codes.refreshTokens.clear();
    const again = userTokenOf(made.parts, who(made), { refused: renewed });
    expect(await codeOf(again)).toBe('git_account_required');
    const asked = github.server.asked.length;
    expect(await codeOf(userTokenOf(made.parts, who(made)))).toBe('git_account_required');
    expect(github.server.asked.length).toBe(asked);
  });

  test('that the host refuses in the middle is renewed, and what was asked is asked again, once', async () => {
    const made = await world();
    await link(made);
    const refuse = (times: number) => {
      github.server.instead = () => {
        if (--times === 0) github.server.instead = null;
        return Response.json({ message: 'Bad credentials', status: '401' }, { status: 401 });
      };
    };
    const before = await userTokenOf(made.parts, who(made));
    refuse(1);
    const asked = github.server.asked.length;
    expect((await made.call('GET', '/git-host/installations')).status).toBe(200);
    expect(github.server.asked.slice(asked)).toEqual([
      ...[
        'GET /api/v3/user/installations',
        'POST /login/oauth/access_token',
        'GET /api/v3/user/installations',
      ],
    ]);
    expect(await userTokenOf(made.parts, who(made))).not.toBe(before);
  });

  test('a host that is away takes no account from anybody', async () => {
    const made = await world();
    await link(made);
    await sql`update svc.git_links set token_expires_at = now() where tenant_id = ${made.tenant.id}`.execute(
      database.db,
    );
    github.server.instead = () => new Response('<html>', { status: 502 });
    expect(await codeOf(userTokenOf(made.parts, who(made)))).toBe('git_host_unavailable');
    github.server.instead = null;
    expect(await userTokenOf(made.parts, who(made))).toStartWith('ghu_');
  });

  test('a host that can not be asked is told as such by each endpoint that asks it', async () => {
    const made = await world();
    await link(made);
    const begun = await start(made);
    github.server.instead = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
    const answers = [
      await made.call('POST', '/git-host/link'),
      await poll(made, begun.device_code),
      await made.call('GET', '/git-host/installations'),
      await made.call('GET', '/git-host/installations/1/repositories'),
      await made.git('POST', '', { repo: 'octo-org/x' }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [503, 'git_host_unavailable']),
    );
  });
});

describe('with the built-in host', () => {
  test('nobody needs to link; who does, does so with their own account alone', async () => {
    const builtIn = await startBuiltIn(database);
    try {
      const made = await gitWorld(database, builtIn.host);
      const { body } = await made.call('GET', '/git-host/installations');
      expect(body.items).toEqual([
        {
          id: expect.any(Number),
          account: made.tenant.slug,
          account_kind: 'organization',
          repositories: 'all',
        },
      ]);
      expect((await made.call('GET', '/git-host/accounts')).body.total).toBe(0);
      const own = await start(made);
      await builtIn.approve(own.user_code, made.people.owner);
      expect((await poll(made, own.device_code)).body.status).toBe('linked');
      const tokens = async () =>
        (
          await sql<{ n: number }>`select count(*)::int as n from svc.git_host_tokens
          where user_id = ${made.people.owner.userId}`.execute(database.db)
        ).rows[0]?.n;
      expect(await tokens()).toBe(2);
      const [account] = (await made.call('GET', '/git-host/accounts')).body.items;
      const path = `/git-host/accounts/${account.id}`;
      expect((await made.call('DELETE', `${path}?dry_run=true`)).status).toBe(200);
      expect(await tokens()).toBe(2);
      // What is unlinked is taken back at the host, too; a code that was approved and not fetched as well.
      const open = await start(made);
      await builtIn.approve(open.user_code, made.people.owner);
      expect((await made.call('DELETE', path)).status).toBe(204);
      expect(await tokens()).toBe(0);
      expect((await poll(made, open.device_code)).status).toBe(404);
      const lured = await start(made);
      await builtIn.approve(lured.user_code, made.people.member);
      const { status, body: refused } = await poll(made, lured.device_code);
      expect([status, refused.code]).toEqual([403, 'access_denied']);
    } finally {
      await builtIn.stop();
    }
  });
});
