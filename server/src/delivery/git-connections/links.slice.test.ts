import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { codeOf, newTenant } from '../../testing.ts';
import { startBuiltIn } from '../git-host/testing.ts';
import { type GitTestEnv, newGitEnv, useGitHub } from './testing.ts';
import { getUserToken } from './user-tokens.ts';

const shared = useGitHub();

const world = (set: { now?: () => Date } = {}) => newGitEnv(shared.database, shared.github.host, set);
const start = async ({ call }: GitTestEnv) => (await call('POST', '/git-host/link')).body;
const poll = ({ call }: GitTestEnv, device_code: string, by = undefined as never) =>
  call('POST', '/git-host/link/poll', { device_code }, by);

async function link(env: GitTestEnv): Promise<void> {
  const started = await start(env);
  await shared.github.approve(started.user_code);
  const { body } = await poll(env, started.device_code);
  if (body.status !== 'linked') throw new Error(JSON.stringify(body));
}
const rowOf = async ({ tenant }: GitTestEnv) =>
  (
    await sql<{ id: string }>`select * from svc.git_links where tenant_id = ${tenant.id}`.execute(
      shared.database.db,
    )
  ).rows;

describe('linking an account', () => {
  test('an approved code links the account; clients see only a sealed code', async () => {
    const env = await world();
    const started = await env.call('POST', '/git-host/link');
    expect([started.status, started.body]).toEqual([
      201,
      {
        device_code: expect.stringMatching(/^[\w-]{100,}$/),
        user_code: expect.any(String),
        verification_uri: `${shared.github.host.webUrl}/login/device`,
        interval_seconds: 5,
        expires_at: expect.any(String),
      },
    ]);
    for (const code of shared.github.server.codes.byCode.keys())
      expect(started.body.device_code).not.toContain(code);
    expect(await rowOf(env)).toEqual([]);
    const waiting = await poll(env, started.body.device_code);
    expect([waiting.status, waiting.body]).toEqual([
      200,
      { status: 'pending', interval_seconds: 5, next_poll_at: expect.any(String), account: null },
    ]);
    const early = await poll(env, started.body.device_code);
    expect([early.body.status, early.body.interval_seconds]).toEqual(['slow_down', 10]);
    const inTen = new Date(early.body.next_poll_at).getTime() - Date.now();
    expect(inTen).toBeWithin(8_000, 10_001);
    await shared.github.approve(started.body.user_code);
    const done = await poll(env, started.body.device_code);
    expect(done.body).toMatchObject({ status: 'linked', account: { login: 'octocat', kind: 'user' } });
    expect((await env.call('GET', '/git-host/accounts')).body).toEqual({
      items: [done.body.account],
      page: 1,
      per_page: 50,
      total: 1,
    });
    expect(await getUserToken(env.deps, who(env))).toStartWith('ghu_');
    // The repeated link counts once.
    expect((await poll(env, started.body.device_code)).body.code).toBe('not_found');
  });

  test('a denied, expired, forged or unknown code links nothing', async () => {
    const env = await world();
    const denied = await start(env);
    await shared.github.deny(denied.user_code);
    expect((await poll(env, denied.device_code)).body.code).toBe('access_denied');
    const late = await start(env);
    await shared.github.expire(late.user_code);
    expect((await poll(env, late.device_code)).body.code).toBe('device_code_expired');
    for (const code of ['x', 'x'.repeat(200), late.device_code.slice(0, -2), `${late.device_code}AA`])
      expect([code, (await poll(env, code)).body.code]).toEqual([code, 'not_found']);
    expect(await rowOf(env)).toEqual([]);
  });

  test('a code expires by our own clock without asking the host', async () => {
    let skipped = 0;
    const env = await world({ now: () => new Date(Date.now() + skipped) });
    const started = await start(env);
    await shared.github.approve(started.user_code);
    skipped = 16 * 60_000;
    const before = shared.github.server.requests.length;
    expect((await poll(env, started.device_code)).body.code).toBe('device_code_expired');
    expect(shared.github.server.requests.length).toBe(before);
  });

  test('a code is valid only for the user and tenant that requested it', async () => {
    const env = await world();
    const started = await start(env);
    await shared.github.approve(started.user_code);
    const other = await newTenant(shared.database.db);
    const before = shared.github.server.requests.length;
    const { device_code } = started;
    const tries = [
      { by: env.people.member, tenant: env.tenant },
      { by: env.people.admin, tenant: env.tenant },
      { by: env.people.owner, tenant: other.tenant },
      { by: other.member, tenant: other.tenant },
    ];
    for (const { by, tenant } of tries) {
      const polled = env.callAs(by, tenant, 'POST', '/git-host/link/poll', { device_code });
      const { status, body } = await polled;
      expect([status, body.code]).toEqual([404, 'not_found']);
    }
    expect(shared.github.server.requests.length).toBe(before);
    expect((await poll(env, started.device_code)).body.status).toBe('linked');
  });

  test('a preview does not ask the host and shows the changes', async () => {
    const env = await world();
    const started = await start(env);
    const before = shared.github.server.requests.length;
    const first = await env.call('POST', '/git-host/link?dry_run=true');
    expect(first.body.plan.changes.map(({ path }: { path: string }) => path)).toEqual([
      'host',
      'code_asked_at',
    ]);
    const body = { device_code: started.device_code };
    const second = await env.call('POST', '/git-host/link/poll?dry_run=true', body);
    expect(second.body.plan.changes).toContainEqual({
      path: 'host',
      before: null,
      after: shared.github.host.webUrl,
      effect: 'create',
    });
    expect([shared.github.server.requests.length, await rowOf(env)]).toEqual([before, []]);
  });

  test('a new account replaces the previous one, and an account can be unlinked', async () => {
    const env = await world();
    await link(env);
    await link(env);
    const { items } = (await env.call('GET', '/git-host/accounts')).body;
    expect(items).toHaveLength(1);
    const path = `/git-host/accounts/${items[0].id}`;
    expect((await env.call('DELETE', path, undefined, env.people.member)).status).toBe(404);
    expect((await env.call('DELETE', path)).status).toBe(204);
    expect((await env.call('DELETE', path)).status).toBe(404);
    expect((await env.call('GET', '/git-host/installations')).body.code).toBe('git_account_required');
  });

  test('tokens and codes are not stored in plain text', async () => {
    const env = await world();
    await link(env);
    const token = await getUserToken(env.deps, who(env));
    const { rows } = await sql<{ text: string }>`
      select (select string_agg(l::text, '') from svc.git_links l)
        || (select string_agg(a::text, '') from svc.audit_entries a) as text`.execute(shared.database.db);
    expect(rows[0]?.text).not.toContain(token);
    expect(rows[0]?.text).not.toContain(Buffer.from(token).toString('hex'));
  });
});

const who = ({ tenant, people }: GitTestEnv) => ({ tenantId: tenant.id, userId: people.owner.userId });

describe('the token of an account', () => {
  test('is renewed after it expired, once for concurrent callers', async () => {
    const env = await world();
    await link(env);
    const before = await getUserToken(env.deps, who(env));
    await sql`update svc.git_links set token_expires_at = now() - interval '1 minute'
      where tenant_id = ${env.tenant.id}`.execute(shared.database.db);
    const asked = shared.github.server.requests.length;
    const tokens = await Promise.all(Array.from({ length: 8 }, () => getUserToken(env.deps, who(env))));
    expect([new Set(tokens).size, tokens[0] === before]).toEqual([1, false]);
    expect(shared.github.server.requests.slice(asked)).toEqual(['POST /login/oauth/access_token']);
    expect(await getUserToken(env.deps, who(env))).toBe(tokens[0] ?? '');
  });

  test('is renewed if the host refuses it; if that fails, the account must be linked again', async () => {
    const env = await world();
    await link(env);
    // Revokes both tokens at the host.
    const refused = await getUserToken(env.deps, who(env));
    const renewed = await getUserToken(env.deps, who(env), { refused });
    expect(renewed).not.toBe(refused);
    shared.github.server.codes.refreshTokens.clear();
    const again = getUserToken(env.deps, who(env), { refused: renewed });
    expect(await codeOf(again)).toBe('git_account_required');
    const asked = shared.github.server.requests.length;
    expect(await codeOf(getUserToken(env.deps, who(env)))).toBe('git_account_required');
    expect(shared.github.server.requests.length).toBe(asked);
  });

  test('that the host refuses during a request is renewed, and the request is repeated once', async () => {
    const env = await world();
    await link(env);
    const refuse = (times: number) => {
      shared.github.server.instead = () => {
        if (--times === 0) shared.github.server.instead = null;
        return Response.json({ message: 'Bad credentials', status: '401' }, { status: 401 });
      };
    };
    const before = await getUserToken(env.deps, who(env));
    refuse(1);
    const asked = shared.github.server.requests.length;
    expect((await env.call('GET', '/git-host/installations')).status).toBe(200);
    expect(shared.github.server.requests.slice(asked)).toEqual([
      'GET /api/v3/user/installations',
      'POST /login/oauth/access_token',
      'GET /api/v3/user/installations',
    ]);
    expect(await getUserToken(env.deps, who(env))).not.toBe(before);
  });

  test('stays linked while the host is unavailable', async () => {
    const env = await world();
    await link(env);
    await sql`update svc.git_links set token_expires_at = now() where tenant_id = ${env.tenant.id}`.execute(
      shared.database.db,
    );
    shared.github.server.instead = () => new Response('<html>', { status: 502 });
    expect(await codeOf(getUserToken(env.deps, who(env)))).toBe('git_host_unavailable');
    shared.github.server.instead = null;
    expect(await getUserToken(env.deps, who(env))).toStartWith('ghu_');
  });

  test('every endpoint reports an unavailable host', async () => {
    const env = await world();
    await link(env);
    const started = await start(env);
    shared.github.server.instead = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
    const answers = [
      await env.call('POST', '/git-host/link'),
      await poll(env, started.device_code),
      await env.call('GET', '/git-host/installations'),
      await env.call('GET', '/git-host/installations/1/repositories'),
      await env.git('POST', '', { repo: 'octo-org/x' }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [503, 'git_host_unavailable']),
    );
  });
});

describe('with the built-in host', () => {
  test('linking is optional and accepts only the own account', async () => {
    const builtIn = await startBuiltIn(shared.database);
    try {
      const env = await newGitEnv(shared.database, builtIn.host);
      const { body } = await env.call('GET', '/git-host/installations');
      expect(body.items).toEqual([
        {
          id: expect.any(Number),
          account: env.tenant.slug,
          account_kind: 'organization',
          repositories: 'all',
        },
      ]);
      expect((await env.call('GET', '/git-host/accounts')).body.total).toBe(0);
      const own = await start(env);
      await builtIn.approve(own.user_code, env.people.owner);
      expect((await poll(env, own.device_code)).body.status).toBe('linked');
      const tokens = async () =>
        (
          await sql<{ n: number }>`select count(*)::int as n from svc.git_host_tokens
          where user_id = ${env.people.owner.userId}`.execute(shared.database.db)
        ).rows[0]?.n;
      expect(await tokens()).toBe(2);
      const [account] = (await env.call('GET', '/git-host/accounts')).body.items;
      const path = `/git-host/accounts/${account.id}`;
      expect((await env.call('DELETE', `${path}?dry_run=true`)).status).toBe(200);
      expect(await tokens()).toBe(2);
      // Unlinking revokes the tokens at the host, too, also those of an approved code that was not fetched.
      const open = await start(env);
      await builtIn.approve(open.user_code, env.people.owner);
      expect((await env.call('DELETE', path)).status).toBe(204);
      expect(await tokens()).toBe(0);
      expect((await poll(env, open.device_code)).status).toBe(404);
      const lured = await start(env);
      await builtIn.approve(lured.user_code, env.people.member);
      const { status, body: refused } = await poll(env, lured.device_code);
      expect([status, refused.code]).toEqual([403, 'access_denied']);
    } finally {
      await builtIn.stop();
    }
  });
});
