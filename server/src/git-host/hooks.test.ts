import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { verify } from '@octokit/webhooks-methods';
import { sql } from 'kysely';
import { newTenant, type TestDatabase, type TestTenant, testDatabase } from '../testing.ts';
import { tellUnfinishedPushes } from './sweep-git-host.ts';
import {
  commitFiles,
  git,
  hostToken,
  installationToken,
  newWorkingCopy,
  remoteUrl,
  startTestGitHost,
  type TestGitHost,
  until,
} from './testing.ts';

setDefaultTimeout(60_000);

let database: TestDatabase;
let host: TestGitHost;
let place: TestTenant;
let token: string;
/** Of the platform itself: hooks are its own. */
let own: string;

beforeAll(async () => {
  database = await testDatabase();
  host = await startTestGitHost(database);
  place = await newTenant(database.db);
  token = await hostToken(database, place.member);
  own = await installationToken(host, place.tenant.id);
});
afterAll(async () => {
  await host.stop();
  await database.close();
});

interface Heard {
  event: string;
  id: string;
  signature: string;
  type: string;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  body: any;
}

/** Somebody who is told; `statuses` are the answers to the first. */
function listener(statuses: number[] = []) {
  const heard: Heard[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text();
      const type = request.headers.get('content-type') ?? '';
      const json = type === 'application/json' ? text : (new URLSearchParams(text).get('payload') ?? '');
      heard.push({
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
  const pushes = () => heard.filter(({ event }) => event === 'push');
  return {
    heard,
    pushes,
    url: `http://127.0.0.1:${server.port}/hook`,
    pushed: (count: number) => until(async () => pushes().length >= count && pushes()),
    stop: () => server.stop(true),
  };
}

let made = 0;
async function newRepo() {
  const name = `repo-${++made}`;
  await host.call(token, 'POST', `/orgs/${place.tenant.slug}/repos`, { name, private: true });
  const fullName = `${place.tenant.slug}/${name}`;
  return {
    fullName,
    copy: await newWorkingCopy(host, `copy-${made}`),
    url: remoteUrl(host, fullName, token),
  };
}

const secret = 'correct horse';
const hookBody = (url: string, more = {}) => ({
  name: 'web',
  events: ['push'],
  config: { url, content_type: 'json', secret, ...more },
});

describe('a hook', () => {
  test('is pinged when it is made, and told of a push, signed', async () => {
    const there = listener();
    const repo = await newRepo();
    const { status, body } = await host.call(
      own,
      'POST',
      `/repos/${repo.fullName}/hooks`,
      hookBody(there.url),
    );
    expect(status).toBe(201);
    expect(body.config).toEqual({
      url: there.url,
      content_type: 'json',
      insecure_ssl: '0',
      secret: '********',
    });
    const sha = await git(repo.copy, 'rev-parse', 'HEAD');
    await git(repo.copy, 'push', '--quiet', repo.url, 'main');
    const [push] = await there.pushed(1);
    expect(there.heard[0]!.event).toBe('ping');
    expect(there.heard[0]!.body.hook_id).toBe(body.id);
    for (const told of there.heard) expect(await verify(secret, told.text, told.signature)).toBeTrue();
    expect(await verify('another', push!.text, push!.signature)).toBeFalse();
    expect(push!.body).toMatchObject({
      ref: 'refs/heads/main',
      before: '0'.repeat(40),
      after: sha,
      created: true,
      deleted: false,
      forced: false,
      head_commit: { id: sha, message: 'First', author: { name: 'Ann', email: 'ann@example.test' } },
      repository: { full_name: repo.fullName, private: true, default_branch: 'main' },
      installation: { id: expect.any(Number) },
      pusher: { email: place.member.email },
    });
    expect(push!.id).toMatch(/^[0-9a-f-]{36}$/);
    there.stop();
  });

  test('is told of each branch and tag once, of what is forced and of what is deleted', async () => {
    const there = listener();
    const repo = await newRepo();
    await host.call(
      own,
      'POST',
      `/repos/${repo.fullName}/hooks`,
      hookBody(there.url, { content_type: 'form' }),
    );
    await git(repo.copy, 'push', '--quiet', repo.url, 'main', 'main:refs/heads/dev', 'main:refs/tags/v1');
    const first = await there.pushed(3);
    expect(first.map(({ body }) => body.ref).sort()).toEqual([
      ...['refs/heads/dev', 'refs/heads/main', 'refs/tags/v1'],
    ]);
    expect(first[0]!.type).toBe('application/x-www-form-urlencoded');
    expect(await verify(secret, first[0]!.text, first[0]!.signature)).toBeTrue();
    // Nothing changed, nothing to tell.
    await git(repo.copy, 'push', '--quiet', repo.url, 'main');
    await git(repo.copy, 'commit', '--quiet', '--amend', '-m', 'Another');
    await git(repo.copy, 'push', '--quiet', '--force', repo.url, 'main');
    await git(repo.copy, 'push', '--quiet', repo.url, ':refs/heads/dev');
    const all = await there.pushed(5);
    expect(all.slice(3).map(({ body }) => [body.ref, body.forced, body.deleted])).toEqual([
      ['refs/heads/main', true, false],
      ['refs/heads/dev', false, true],
    ]);
    expect(all[4]!.body).toMatchObject({ after: '0'.repeat(40), head_commit: null });
    there.stop();
  });

  test('that fails is tried again with the same id; where it leads elsewhere, nobody follows', async () => {
    const there = listener([202, 500, 302]);
    const repo = await newRepo();
    await host.call(own, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(there.url));
    await until(async () => there.heard.length === 1);
    await git(repo.copy, 'push', '--quiet', repo.url, 'main');
    const [one, two, three] = await there.pushed(3);
    expect(new Set([one!.id, two!.id, three!.id]).size).toBe(1);
    expect(there.heard).toHaveLength(4);
    const { rows } = await until(async () => {
      const found = await sql<{ status: number; attempts: number }>`
        select status, attempts from svc.git_host_deliveries where id = ${one!.id} and delivered_at is not null`.execute(
        database.db,
      );
      return found.rows.length > 0 && found;
    });
    expect(rows).toEqual([{ status: 202, attempts: 3 }]);
    there.stop();
  });

  test('is changed, listed and removed; two for one address are not made', async () => {
    const there = listener();
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    const { body: hook } = await host.call(own, 'POST', at, hookBody(there.url));
    const again = await host.call(own, 'POST', at, hookBody(there.url));
    expect([again.status, again.body.errors[0].message]).toEqual([
      422,
      'Hook already exists on this repository',
    ]);
    expect((await host.call(own, 'GET', at)).body).toMatchObject([{ id: hook.id, active: true }]);
    const other = await host.call(own, 'POST', at, hookBody(`${there.url}/other`));
    const taken = await host.call(own, 'PATCH', `${at}/${other.body.id}`, { config: { url: there.url } });
    expect([taken.status, taken.body.errors[0].message]).toEqual([422, again.body.errors[0].message]);
    await host.call(own, 'DELETE', `${at}/${other.body.id}`);
    const off = await host.call(own, 'PATCH', `${at}/${hook.id}`, { active: false });
    expect(off.body).toMatchObject({ active: false, events: ['push'], config: { url: there.url } });
    await until(async () => there.heard.length >= 1);
    await git(repo.copy, 'push', '--quiet', repo.url, 'main');
    await host.call(own, 'PATCH', `${at}/${hook.id}`, { active: true, config: { secret: 'changed' } });
    await commitFiles(repo.copy, { 'x.txt': 'x' });
    await git(repo.copy, 'push', '--quiet', repo.url, 'main');
    const pushes = await there.pushed(1);
    expect(pushes).toHaveLength(1);
    expect(await verify('changed', pushes[0]!.text, pushes[0]!.signature)).toBeTrue();
    expect((await host.call(own, 'DELETE', `${at}/${hook.id}`)).status).toBe(204);
    expect((await host.call(own, 'DELETE', `${at}/${hook.id}`)).status).toBe(404);
    expect((await host.call(own, 'GET', `${at}/${hook.id}`)).status).toBe(404);
    there.stop();
  });

  test("is nobody's but the platform's: people do not make this server call where they say", async () => {
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    const { body } = await host.call(own, 'POST', at, hookBody('http://127.0.0.1:1/'));
    const address = { config: { url: 'http://127.0.0.1:2/' } };
    for (const [method, path, said] of [
      ['POST', at, address],
      ['PATCH', `${at}/${body.id}`, address],
      ['GET', at, undefined],
      ['GET', `${at}/${body.id}`, undefined],
      ['DELETE', `${at}/${body.id}`, undefined],
    ] as const) {
      const refused = await host.call(token, method, path, said);
      expect([method, refused.status, refused.body.message]).toEqual([
        ...[method, 403, 'Resource not accessible by integration'],
      ]);
    }
    expect((await host.call(own, 'GET', at)).body).toMatchObject([
      { id: body.id, config: { url: 'http://127.0.0.1:1/', secret: '********' } },
    ]);
  });

  test('leads to http(s) alone, and is not there for who may not see the repository', async () => {
    const repo = await newRepo();
    const at = `/repos/${repo.fullName}/hooks`;
    for (const url of ['file:///etc/passwd', 'ftp://x/', 'nothing', 'http://a:b@c/', '', undefined])
      expect([url, (await host.call(own, 'POST', at, { config: { url } })).status]).toEqual([url, 422]);
    const admins = await hostToken(database, place.admin);
    expect((await host.call(admins, 'POST', at, hookBody('http://127.0.0.1:1/'))).status).toBe(404);
    expect((await host.call(admins, 'GET', at)).status).toBe(404);
  });
});

test('pushes that end at the same time are each told once', async () => {
  const there = listener();
  const repo = await newRepo();
  await host.call(own, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(there.url));
  const branches = ['a', 'b', 'c', 'd'];
  await Promise.all(
    branches.map((name) => git(repo.copy, 'push', '--quiet', repo.url, `main:refs/heads/${name}`)),
  );
  await there.pushed(branches.length);
  await commitFiles(repo.copy, { 'last.txt': 'last' });
  await git(repo.copy, 'push', '--quiet', repo.url, 'main:refs/heads/z');
  const told = await there.pushed(branches.length + 1);
  expect(told.map(({ body }) => body.ref).sort()).toEqual(
    [...branches, 'z'].map((name) => `refs/heads/${name}`),
  );
  there.stop();
});

test('a push that a crash kept from being told is told by the sweep', async () => {
  const there = listener();
  const repo = await newRepo();
  await host.call(own, 'POST', `/repos/${repo.fullName}/hooks`, hookBody(there.url));
  await git(repo.copy, 'push', '--quiet', repo.url, 'main');
  await there.pushed(1);
  // As it is left: the repository has it, and nobody was told.
  await sql`update svc.git_host_repos set refs = '{}', push_begun_at = now() - interval '2 minutes'
    where name = ${repo.fullName.split('/')[1]}`.execute(database.db);
  await tellUnfinishedPushes(host.parts);
  const told = await there.pushed(2);
  expect(told[1]!.body).toMatchObject({ ref: 'refs/heads/main', pusher: { name: 'svc[bot]' } });
  await tellUnfinishedPushes(host.parts);
  expect(there.pushes()).toHaveLength(2);
  there.stop();
});
