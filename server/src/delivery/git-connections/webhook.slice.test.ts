import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { answerOf } from '../../data/testing.ts';
import type { Repository } from '../../drivers/git/git-host.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { silentLog, testEvents } from '../../testing.ts';
import { pushDeployments } from '../deployments/queue-deployment.ts';
import { findOrCreateHostUser } from '../git-host/host-store.ts';
import { createPushPreviews } from '../previews/previews.ts';
import { setupPage } from './browser-connections.ts';
import { insertConnectionRow } from './connection-store.ts';
import { type GitTestEnv, newGitEnv, useGitHub } from './testing.ts';
import { createWebhookReceiver, webhookBytesMax } from './webhook.ts';

const shared = useGitHub();

type Repo = Pick<Repository, 'id' | 'owner' | 'name'>;
let lastId = 5_000;
const newRepo = (): Repo => ({ id: ++lastId, owner: 'octo-org', name: `r${lastId}` });
const newDelivery = () => Bun.randomUUIDv7();

async function connected(repo: Repo, env?: GitTestEnv): Promise<GitTestEnv> {
  const world = env ?? (await newGitEnv(shared.database, shared.github.host));
  await connect(world, repo, world.app.id);
  return world;
}

async function connect({ tenant, people }: GitTestEnv, repo: Repo, appId: string): Promise<void> {
  const tx = await shared.database.db.startTransaction().execute();
  await insertConnectionRow(tx, {
    app_id: appId,
    tenant_id: tenant.id,
    host: shared.github.host.webUrl,
    repo_id: repo.id,
    repo: `${repo.owner}/${repo.name}`,
    is_private: true,
    branch: 'main',
    installation_id: 1,
    web_url: '',
    clone_url: '',
    hook_state: 'ok',
    hook_id: 1,
    hook_detail: '',
    connected_by: people.owner.userId,
    connected_at: new Date(),
  });
  await tx.commit().execute();
}

interface TestPush {
  repo: Repo;
  branch?: string;
  ref?: string;
  commit?: string;
  deleted?: boolean;
  sender?: unknown;
}

const newCommit = () => Bun.SHA1.hash(Bun.randomUUIDv7(), 'hex');
const pushBody = ({ repo, branch = 'main', ref, commit, deleted = false, sender }: TestPush) =>
  JSON.stringify({
    ref: ref ?? `refs/heads/${branch}`,
    before: newCommit(),
    after: commit ?? newCommit(),
    deleted,
    repository: { id: repo.id, full_name: `${repo.owner}/${repo.name}` },
    sender: sender === undefined ? undefined : { id: sender, login: 'x' },
  });
const sign = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

function deliver(
  { deps }: GitTestEnv,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
) {
  const outbox = rowsOnlyOutbox;
  // The repositories of these tests do not exist at the git host.
  const previews = {
    ...createPushPreviews({ ...deps, raw: {} as RawDatabases }),
    findSettings: async () => null,
  };
  const base = { ...deps, pushDeployments, previews, outbox, events: testEvents, log: silentLog };
  return answerOf(createWebhookReceiver(base), '/webhooks/git-host', { method: 'POST', body, headers });
}

const events = { 'x-github-event': 'push', 'content-type': 'application/json' };
function deliverSigned(env: GitTestEnv, body: string, headers: Record<string, string>) {
  const signature = sign(shared.github.server.webhookSecret, body);
  return deliver(env, body, { ...events, 'x-hub-signature-256': signature, ...headers });
}
const push = (env: GitTestEnv, event: TestPush, delivery = newDelivery()) =>
  deliverSigned(env, pushBody(event), { 'x-github-delivery': delivery });

/** As if the user had approved a device code. */
async function linkAccount({ tenant }: GitTestEnv, userId: string, account: number): Promise<void> {
  await sql`insert into svc.git_links
      (id, tenant_id, user_id, host, account_id, login, kind, token_sealed, linked_at)
    values (${Bun.randomUUIDv7()}, ${tenant.id}, ${userId}, ${shared.github.host.webUrl}, ${account}, 'x', 'user', '', now())`.execute(
    shared.database.db,
  );
}
const statusOf = async ({ git }: GitTestEnv) => (await git('GET')).body;

test('a failure for one app does not stop the push for others', async () => {
  const repo = newRepo();
  const first = await connected(repo);
  const second = await connected(repo);
  const { db } = shared.database;
  // Makes the insert fail for the first app.
  const name = sql.ref(`git_pushes_${repo.id}`);
  await sql`alter table svc.git_pushes add constraint ${name}
    check (app_id <> ${sql.lit(first.app.id)}) not valid`.execute(db);
  const delivery = newDelivery();
  const refused = await push(first, { repo }, delivery).catch((error: unknown) => error);
  await sql`alter table svc.git_pushes drop constraint ${name}`.execute(db);
  expect(String(refused)).toContain('violates check constraint');
  expect([(await deploymentsOf(first.app.id)).length, (await deploymentsOf(second.app.id)).length]).toEqual([
    0, 1,
  ]);
});

async function deploymentsOf(appId: string) {
  interface Row {
    seq: number;
    state: string;
    trigger: string;
    ref: string;
    created_by: string | null;
  }
  const { rows } = await sql<Row>`
    select seq, state, trigger, ref, created_by from svc.deployments where app_id = ${appId} order by seq`.execute(
    shared.database.db,
  );
  return rows;
}

describe('a push to the connected branch', () => {
  test('creates a deployment, which the status shows', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const commit = newCommit();
    const delivery = newDelivery();
    expect(await push(env, { repo, commit }, delivery)).toEqual({ status: 202, body: { noted: 1 } });
    expect(await deploymentsOf(env.app.id)).toEqual([
      { seq: 1, state: 'queued', trigger: 'push', ref: 'main', created_by: null },
    ]);
    expect((await statusOf(env)).last_push).toEqual({
      delivery_id: delivery,
      branch: 'main',
      commit,
      outcome: 'deployed',
      deployment_id: expect.any(String),
      deployment: { id: expect.any(String), seq: 1, state: 'queued' },
      summary: 'Deployment #1: building (queued)',
      received_at: expect.any(String),
    });
  });

  test('is attributed to the member whose linked account pushed', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const { owner, coOwner, member } = env.people;
    const other = await newGitEnv(shared.database, shared.github.host);
    await linkAccount(env, owner.userId, 71);
    await linkAccount(other, other.people.owner.userId, 72);
    for (const person of [coOwner, member]) await linkAccount(env, person.userId, 73);
    const leaver = env.people.admin.userId;
    await linkAccount(env, leaver, 74);
    await sql`delete from svc.memberships where tenant_id = ${env.tenant.id} and user_id = ${leaver}`.execute(
      shared.database.db,
    );
    // Linked by a member; unknown; in another tenant; by two members; by a former member; without an account.
    for (const sender of [71, 70, 72, 73, 74, null, 'octocat']) await push(env, { repo, sender });
    const by = (await deploymentsOf(env.app.id)).map(({ created_by }) => created_by);
    expect(by).toEqual([owner.userId, null, null, null, null, null, null]);
  });

  test('at the built-in host is attributed to the member who pushed', async () => {
    const repo = newRepo();
    const env = await connected(
      repo,
      await newGitEnv(shared.database, { ...shared.github.host, isBuiltIn: true }),
    );
    const stranger = (await newGitEnv(shared.database, shared.github.host)).people.owner;
    const { coOwner } = env.people;
    const numberOf = async ({ userId }: { userId: string }) =>
      (await findOrCreateHostUser(shared.database.db, { userId, email: `${userId}@example.test` })).id;
    await linkAccount(env, env.people.owner.userId, 75);
    for (const sender of [await numberOf(coOwner), await numberOf(stranger), 0, 75])
      await push(env, { repo, sender });
    const by = (await deploymentsOf(env.app.id)).map(({ created_by }) => created_by);
    expect(by).toEqual([coOwner.userId, null, null, null]);
  });

  test('that is delivered again does nothing', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const delivery = newDelivery();
    const pushed = { repo, commit: newCommit() };
    await push(env, pushed, delivery);
    expect(await push(env, pushed, delivery)).toEqual({ status: 200, body: { noted: 0 } });
    const both = await Promise.all([push(env, { repo }, 'twice'), push(env, { repo }, 'twice')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 202]);
    expect(await deploymentsOf(env.app.id)).toHaveLength(2);
  });

  test('of an already deployed commit creates no second deployment', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const commit = newCommit();
    await push(env, { repo, commit });
    await push(env, { repo, commit });
    expect((await statusOf(env)).last_push.outcome).toBe('repeated');
    await sql`update svc.deployments set state = 'live', commit_sha = ${commit}
      where app_id = ${env.app.id}`.execute(shared.database.db);
    await push(env, { repo, commit });
    expect(await deploymentsOf(env.app.id)).toHaveLength(1);
    // A failed delivery does not block the next one.
    await sql`update svc.deployments set state = 'failed' where app_id = ${env.app.id}`.execute(
      shared.database.db,
    );
    await push(env, { repo, commit });
    expect(await deploymentsOf(env.app.id)).toHaveLength(2);
  });

  test('that is delivered late deploys the current branch, never an older commit', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const [older, newer] = [newCommit(), newCommit()];
    await push(env, { repo, commit: newer });
    await push(env, { repo, commit: older });
    const all = await deploymentsOf(env.app.id);
    expect(all.map(({ state, ref }) => [state, ref])).toEqual([
      ['skipped', 'main'],
      ['queued', 'main'],
    ]);
  });

  test('deploys each connected app once', async () => {
    const repo = newRepo();
    const one = await connected(repo);
    const second = await one.newApp();
    await connect(one, repo, second.id);
    const other = await connected(repo);
    const delivery = newDelivery();
    expect((await push(one, { repo }, delivery)).body).toEqual({ noted: 3 });
    expect((await push(one, { repo }, delivery)).body).toEqual({ noted: 0 });
    for (const id of [one.app.id, second.id, other.app.id]) expect(await deploymentsOf(id)).toHaveLength(1);
  });

  test('of a renamed repository updates its name', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    await push(env, { repo: { ...repo, owner: 'new-org', name: 'renamed' } });
    expect((await statusOf(env)).connection).toMatchObject({
      repo: 'new-org/renamed',
      repo_id: repo.id,
      web_url: `${shared.github.host.webUrl}/new-org/renamed`,
    });
    expect(await deploymentsOf(env.app.id)).toHaveLength(1);
  });
});

describe('not deployed', () => {
  test.each([
    ['another branch', { branch: 'dev' }, 'other_branch'],
    ['a branch whose name only begins alike', { branch: 'main2' }, 'other_branch'],
    ['a branch that was deleted', { deleted: true, commit: '0'.repeat(40) }, 'branch_deleted'],
  ])('%s is noted', async (_name, pushed, outcome) => {
    const repo = newRepo();
    const env = await connected(repo);
    expect((await push(env, { repo, ...pushed })).status).toBe(202);
    expect((await statusOf(env)).last_push.outcome).toBe(outcome);
    expect(await deploymentsOf(env.app.id)).toEqual([]);
  });

  test('an archived, deleted or suspended app: recorded as not active', async () => {
    for (const set of [
      sql`record = 'archived'`,
      sql`record = 'deleted', deleted_at = now(), purge_after = now()`,
      sql`runtime = 'suspended'`,
    ]) {
      const repo = newRepo();
      const env = await connected(repo);
      await sql`update svc.apps set ${set} where id = ${env.app.id}`.execute(shared.database.db);
      expect((await push(env, { repo })).status).toBe(202);
      const { rows } = await sql<{ outcome: string }>`
        select outcome from svc.git_pushes where app_id = ${env.app.id}`.execute(shared.database.db);
      expect(rows).toEqual([{ outcome: 'not_active' }]);
      expect(await deploymentsOf(env.app.id)).toEqual([]);
    }
  });

  test('tags, unconnected repositories and other events: not recorded', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    expect((await push(env, { repo, ref: 'refs/tags/main' })).status).toBe(200);
    expect((await push(env, { repo: newRepo() })).status).toBe(200);
    const body = JSON.stringify({ zen: 'Design for failure.' });
    for (const event of ['ping', 'issues', 'installation']) {
      const headers = { 'x-github-event': event, 'x-github-delivery': newDelivery() };
      expect((await deliverSigned(env, body, headers)).status).toBe(200);
    }
    expect((await statusOf(env)).last_push).toBeNull();
  });

  test('a repository with the same id at another host', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    await sql`update svc.git_connections set host = 'https://other.example' where app_id = ${env.app.id}`.execute(
      shared.database.db,
    );
    expect((await push(env, { repo })).body).toEqual({ noted: 0 });
  });
});

describe('a request that is not from the git host', () => {
  test('is rejected if unsigned, forged, signed with another secret or changed', async () => {
    const repo = newRepo();
    const env = await connected(repo);
    const body = pushBody({ repo });
    const right = sign(shared.github.server.webhookSecret, body);
    const base = { ...events, 'x-github-delivery': newDelivery() };
    for (const [text, signature] of [
      [body, undefined],
      [body, ''],
      [body, 'sha256='],
      [body, right.toUpperCase()],
      [body, right.replace('sha256=', 'sha1=')],
      [body, right.slice(0, -1)],
      [body, `${right}0`],
      [body, sign('another secret of hooks', body)],
      [body, sign('', body)],
      [`${body} `, right],
      ['', right],
      ['not json', sign('x', 'not json')],
    ] as const) {
      const headers = { ...base, ...(signature === undefined ? {} : { 'x-hub-signature-256': signature }) };
      const answer = await deliver(env, text, headers);
      expect([signature, answer.status, answer.body.code]).toEqual([signature, 401, 'unauthenticated']);
    }
    // Invalid UTF-8 is not replaced and compared as text.
    const bytes = new Uint8Array([...new TextEncoder().encode(body), 0xff]);
    expect((await deliver(env, bytes, { ...base, 'x-hub-signature-256': right })).status).toBe(401);
    expect((await statusOf(env)).last_push).toBeNull();
  });

  test('is rejected if it is signed but not a push event', async () => {
    const env = await connected(newRepo());
    for (const [body, code] of [
      ['not json', 'malformed_json'],
      ['{}', 'validation_failed'],
      ['[]', 'validation_failed'],
      ['{"ref":"refs/heads/main","after":"x","repository":{"id":1,"full_name":"a/b"}}', 'validation_failed'],
    ] as const) {
      const answer = await deliverSigned(env, body, { 'x-github-delivery': 'x' });
      expect([body, answer.body.code]).toEqual([body, code]);
    }
    expect((await deliverSigned(env, pushBody({ repo: newRepo() }), {})).status).toBe(400);
  });

  test('can have a body of at most 5 MiB', async () => {
    const env = await connected(newRepo());
    const send = (size: number) => deliverSigned(env, 'x'.repeat(size), { 'x-github-delivery': 'x' });
    expect((await send(webhookBytesMax)).body.code).toBe('malformed_json');
    expect((await send(webhookBytesMax + 1)).status).toBe(413);
  });
});

test('the setup page shows the next command and escapes the URL parameters', async () => {
  const info = { setRoute: () => {} } as never;
  const page = async (query: string) => {
    const url = new URL(`http://svc.example.test/git-host/setup${query}`);
    return (await setupPage(new Request(url), url, info)).text();
  };
  expect(await page('?installation_id=12&state=abc_-1')).toContain(
    '<code>svc git-host complete --state abc_-1 --installation-id 12</code>',
  );
  const hostile = await page('?installation_id=1;id&state=%3Cscript%3E');
  expect([hostile.includes('script'), hostile.includes('Nothing to finish')]).toEqual([false, true]);
});
