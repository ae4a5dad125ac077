import { beforeAll, describe, expect, test } from 'bun:test';
import { verify } from '@octokit/webhooks-methods';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { until } from '../testing.ts';
import { notifyUnfinishedPushes } from './git-host.ts';
import { commitFiles, connectApp, git, hostToken, installationToken, useGitHost } from './testing.ts';

const env = useGitHost();
/** Only the platform's app may manage hooks. */
let appToken: string;
beforeAll(async () => {
  appToken = await installationToken(env.host, env.tenant.id);
});
const newRepo = () => env.newRepoWithCopy();

interface Received {
  event: string;
  id: string;
  signature: string;
  type: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  body: any;
}

/** A server that records webhook deliveries; the first ones get these statuses. */
function listener(statuses: number[] = []) {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text();
      const type = request.headers.get('content-type') ?? '';
      const json = type === 'application/json' ? text : (new URLSearchParams(text).get('payload') ?? '');
      received.push({
        event: request.headers.get('x-github-event') ?? '',
        id: request.headers.get('x-github-delivery') ?? '',
        signature: request.headers.get('x-hub-signature-256') ?? '',
        type,
        text,
        body: JSON.parse(json),
      });
      const status = statuses.shift() ?? 202;
      return new Response(null, { status, headers: status === 302 ? { location: '/elsewhere' } : {} });
    },
  });
  const pushes = () => received.filter(({ event }) => event === 'push');
  return {
    received,
    pushes,
    url: `http://127.0.0.1:${server.port}/hook`,
    pushed: (count: number) => until(async () => pushes().length >= count && pushes()),
    stop: () => server.stop(true),
  };
}

const secret = 'correct horse';
const hookBody = (url: string, more = {}) => ({
  name: 'web',
  events: ['push'],
  config: { url, content_type: 'json', secret, ...more },
});

describe('a hook', () => {
  test('gets a signed ping when it is created, and a signed event for each push', async () => {
    const receiver = listener();
    const repo = await newRepo();
    const { status, body } = await env.host.call(
      appToken,
      'POST',
      `/repos/${repo.fullName}/hooks`,
      hookBody(receiver.url),
    );
    expect(status).toBe(201);
    expect(body.config).toEqual({
      url: receiver.url,
      content_type: 'json',
      insecure_ssl: '0',
      secret: '********',
    });
    const sha = await git(repo.copy, 'rev-parse', 'HEAD');
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
    const [push] = await receiver.pushed(1);
    expect(receiver.received[0]!.event).toBe('ping');
    expect(receiver.received[0]!.body.hook_id).toBe(body.id);
    for (const delivery of receiver.received)
      expect(await verify(secret, delivery.text, delivery.signature)).toBeTrue();
    expect(await verify('another', push!.text, push!.signature)).toBeFalse();
    expect(push!.body).toMatchObject({
      ref: 'refs/heads/main',
      before: '0'.repeat(40),
      after: sha,
      created: true,
      deleted: false,
      forced: false,
      head_commit: { id: sha, message: 'First', author: { name: 'Mona', email: 'mona@example.test' } },
      repository: { full_name: repo.fullName, private: true, default_branch: 'main' },
      installation: { id: expect.any(Number) },
      pusher: { email: env.member.email },
    });
    expect(push!.id).toMatch(/^[0-9a-f-]{36}$/);
    receiver.stop();
  });

  test('gets one event for each created, forced or deleted ref', async () => {
    const receiver = listener();
    const repo = await newRepo();
    await env.host.call(
      appToken,
      'POST',
      `/repos/${repo.fullName}/hooks`,
      hookBody(receiver.url, { content_type: 'form' }),
    );
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main', 'main:refs/heads/dev', 'main:refs/tags/v1');
    const first = await receiver.pushed(3);
    const refs = first.map(({ body }) => body.ref).sort();
    expect(refs).toEqual(['refs/heads/dev', 'refs/heads/main', 'refs/tags/v1']);
    expect(first[0]!.type).toBe('application/x-www-form-urlencoded');
    expect(await verify(secret, first[0]!.text, first[0]!.signature)).toBeTrue();
    // A push without changes is not reported.
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
    await git(repo.copy, 'commit', '--quiet', '--amend', '-m', 'Another');
    await git(repo.copy, 'push', '--quiet', '--force', repo.url(), 'main');
    await git(repo.copy, 'push', '--quiet', repo.url(), ':refs/heads/dev');
    const all = await receiver.pushed(5);
    expect(all.slice(3).map(({ body }) => [body.ref, body.forced, body.deleted])).toEqual([
      ['refs/heads/main', true, false],
      ['refs/heads/dev', false, true],
    ]);
    expect(all[4]!.body).toMatchObject({ after: '0'.repeat(40), head_commit: null });
    receiver.stop();
  });

  test('is retried with the same delivery id, and redirects are not followed', async () => {
    const receiver = listener([202, 500, 302]);
    const repo = await newRepo();
    await env.host.call(appToken, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(receiver.url));
    await until(async () => receiver.received.length === 1);
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
    const [one, two, three] = await receiver.pushed(3);
    expect(new Set([one!.id, two!.id, three!.id]).size).toBe(1);
    expect(receiver.received).toHaveLength(4);
    const { rows } = await until(async () => {
      const found = await sql<{ status: number; attempts: number }>`
        select status, attempts from svc.git_host_deliveries where id = ${one!.id} and delivered_at is not null`.execute(
        env.database.db,
      );
      return found.rows.length > 0 && found;
    });
    expect(rows).toEqual([{ status: 202, attempts: 3 }]);
    receiver.stop();
  });

  test('can be updated, listed and deleted; a second hook with the same URL is rejected', async () => {
    const receiver = listener();
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    const { body: hook } = await env.host.call(appToken, 'POST', at, hookBody(receiver.url));
    const again = await env.host.call(appToken, 'POST', at, hookBody(receiver.url));
    expect([again.status, again.body.errors[0].message]).toEqual([
      422,
      'Hook already exists on this repository',
    ]);
    expect((await env.host.call(appToken, 'GET', at)).body).toMatchObject([{ id: hook.id, active: true }]);
    const other = await env.host.call(appToken, 'POST', at, hookBody(`${receiver.url}/other`));
    const taken = await env.host.call(appToken, 'PATCH', `${at}/${other.body.id}`, {
      config: { url: receiver.url },
    });
    expect([taken.status, taken.body.errors[0].message]).toEqual([422, again.body.errors[0].message]);
    await env.host.call(appToken, 'DELETE', `${at}/${other.body.id}`);
    const off = await env.host.call(appToken, 'PATCH', `${at}/${hook.id}`, { active: false });
    expect(off.body).toMatchObject({ active: false, events: ['push'], config: { url: receiver.url } });
    await until(async () => receiver.received.length >= 1);
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
    await env.host.call(appToken, 'PATCH', `${at}/${hook.id}`, {
      active: true,
      config: { secret: 'changed' },
    });
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
    const pushes = await receiver.pushed(1);
    expect(pushes).toHaveLength(1);
    expect(await verify('changed', pushes[0]!.text, pushes[0]!.signature)).toBeTrue();
    expect((await env.host.call(appToken, 'DELETE', `${at}/${hook.id}`)).status).toBe(204);
    expect((await env.host.call(appToken, 'DELETE', `${at}/${hook.id}`)).status).toBe(404);
    expect((await env.host.call(appToken, 'GET', `${at}/${hook.id}`)).status).toBe(404);
    receiver.stop();
  });

  test('cannot be managed by users, who could make the server call internal URLs', async () => {
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    const { body } = await env.host.call(appToken, 'POST', at, hookBody('http://127.0.0.1:1/'));
    const config = { config: { url: 'http://127.0.0.1:2/' } };
    for (const [method, path, sent] of [
      ['POST', at, config],
      ['PATCH', `${at}/${body.id}`, config],
      ['GET', at, undefined],
      ['GET', `${at}/${body.id}`, undefined],
      ['DELETE', `${at}/${body.id}`, undefined],
    ] as const) {
      const refused = await env.host.call(env.token, method, path, sent);
      expect([method, refused.status]).toEqual([method, 403]);
      expect(refused.body.message).toBe('Resource not accessible by integration');
    }
    expect((await env.host.call(appToken, 'GET', at)).body).toMatchObject([
      { id: body.id, config: { url: 'http://127.0.0.1:1/', secret: '********' } },
    ]);
  });

  test('accepts only http(s) URLs, and is hidden from users without access to the repository', async () => {
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    for (const url of ['file:///etc/passwd', 'ftp://x/', 'nothing', 'http://a:b@c/', '', undefined])
      expect([url, (await env.host.call(appToken, 'POST', at, { config: { url } })).status]).toEqual([
        url,
        422,
      ]);
    const admins = await hostToken(env.database, env.admin);
    expect((await env.host.call(admins, 'POST', at, hookBody('http://127.0.0.1:1/'))).status).toBe(404);
    expect((await env.host.call(admins, 'GET', at)).status).toBe(404);
  });
});

test('concurrent pushes are each reported once', async () => {
  const receiver = listener();
  const repo = await newRepo();
  await env.host.call(appToken, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(receiver.url));
  const branches = ['a', 'b', 'c', 'd'];
  await Promise.all(
    branches.map((name) => git(repo.copy, 'push', '--quiet', repo.url(), `main:refs/heads/${name}`)),
  );
  await receiver.pushed(branches.length);
  await commitFiles(repo.copy, { 'last.txt': 'last' });
  await git(repo.copy, 'push', '--quiet', repo.url(), 'main:refs/heads/z');
  const pushes = await receiver.pushed(branches.length + 1);
  expect(pushes.map(({ body }) => body.ref).sort()).toEqual(
    [...branches, 'z'].map((name) => `refs/heads/${name}`),
  );
  receiver.stop();
});

test('a push that a crash left unreported is reported by the job', async () => {
  const receiver = listener();
  const repo = await newRepo();
  await env.host.call(appToken, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(receiver.url));
  await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
  await receiver.pushed(1);
  // The state after a crash: the repository has the commits, but they are not recorded.
  await sql`update svc.git_host_repos set refs = '{}', push_begun_at = now() - interval '2 minutes'
    where name = ${repo.fullName.split('/')[1]}`.execute(env.database.db);
  await notifyUnfinishedPushes(env.host.deps);
  const pushes = await receiver.pushed(2);
  expect(pushes[1]!.body).toMatchObject({ ref: 'refs/heads/main', pusher: { name: 'svc[bot]' } });
  await notifyUnfinishedPushes(env.host.deps);
  expect(receiver.pushes()).toHaveLength(2);
  receiver.stop();
});

test('a push that was not recorded for its app, which has no hook yet, is deployed by the job once', async () => {
  const { db } = env.database;
  const repo = await newRepo();
  const app = await newApp(db, env.tenant, env.member);
  await connectApp(env, repo.id, app.id);
  const recorded = async () =>
    (await sql<{ outcome: string }>`select outcome from svc.git_pushes where app_id = ${app.id}`.execute(db))
      .rows;
  // The changes are known, the deployment is not: a crash between the two leaves the same.
  await sql`create function refuse_push() returns trigger language plpgsql as
    $$begin raise exception 'no push is recorded'; end$$`.execute(db);
  await sql`create trigger refuse_push before insert on svc.git_pushes
    for each row execute function refuse_push()`.execute(db);
  await git(repo.copy, 'push', '--quiet', repo.url(), 'main');
  await sql`drop function refuse_push cascade`.execute(db);
  expect(await recorded()).toEqual([]);
  await sql`update svc.git_host_repos set push_begun_at = pushed_at - interval '1 second' where id = ${repo.id}`.execute(
    db,
  );
  env.host.skip(120);
  for (const _ of [1, 2]) {
    await notifyUnfinishedPushes(env.host.deps);
    expect(await recorded()).toEqual([{ outcome: 'deployed' }]);
  }
});
