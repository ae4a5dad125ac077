import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { sql } from 'kysely';
import type { Repository } from '../drivers/git-host/git-host.ts';
import { githubWorld } from '../drivers/git-host/testing/github-world.ts';
import { hostUserOf } from '../git-host/accounts-store.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { insertConnectionRow } from './connection-store.ts';
import { webhookBytesMax } from './receive-webhook.ts';
import { setupPage } from './setup-page.ts';
import { deliver, type GitWorld, gitWorld, newCommit, pushBody, signatureOf, type Told } from './testing.ts';

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

type Repo = Pick<Repository, 'id' | 'owner' | 'name'>;
let lastId = 5_000;
const newRepo = (): Repo => ({ id: ++lastId, owner: 'octo-org', name: `r${lastId}` });
const newDelivery = () => Bun.randomUUIDv7();

async function connected(repo: Repo, made?: GitWorld): Promise<GitWorld> {
  const world = made ?? (await gitWorld(database, github.host));
  await connect(world, repo, world.app.id);
  return world;
}

async function connect({ tenant, people }: GitWorld, repo: Repo, appId: string): Promise<void> {
  const tx = await database.db.startTransaction().execute();
  await insertConnectionRow(tx, {
    ...{ app_id: appId, tenant_id: tenant.id, host: github.host.webUrl, repo_id: repo.id },
    ...{ repo: `${repo.owner}/${repo.name}`, is_private: true, branch: 'main', installation_id: 1 },
    ...{ web_url: '', clone_url: '', hook_state: 'ok', hook_id: 1, hook_detail: '' },
    ...{ connected_by: people.owner.userId, connected_at: new Date() },
  });
  await tx.commit().execute();
}

const { web: _, ...events } = { web: '', 'x-github-event': 'push', 'content-type': 'application/json' };
function tell({ parts }: GitWorld, told: Told, delivery = newDelivery()) {
  const body = pushBody(told);
  const signature = signatureOf(github.server.webhookSecret, body);
  return deliver(parts, body, {
    ...events,
    ...{ 'x-github-delivery': delivery, 'x-hub-signature-256': signature },
  });
}
/** As if the person had approved a code. */
async function linkAccount({ tenant }: GitWorld, userId: string, account: number): Promise<void> {
  await sql`insert into svc.git_links
      (id, tenant_id, user_id, host, account_id, login, kind, token_sealed, linked_at)
    values (${Bun.randomUUIDv7()}, ${tenant.id}, ${userId}, ${github.host.webUrl}, ${account}, 'x', 'user', '', now())`.execute(
    database.db,
  );
}
const statusOf = async ({ git }: GitWorld) => (await git('GET')).body;

test('the trouble of one app does not keep a push from the others', async () => {
  const repo = newRepo();
  const first = await connected(repo);
  const second = await connected(repo);
  const { db } = database;
  // What can not be kept for the first app.
  const name = sql.ref(`git_pushes_${repo.id}`);
  await sql`alter table svc.git_pushes add constraint ${name}
    check (app_id <> ${sql.lit(first.app.id)}) not valid`.execute(db);
  const delivery = newDelivery();
  const refused = await tell(first, { repo }, delivery).catch((error: unknown) => error);
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
    database.db,
  );
  return rows;
}

describe('a push to the connected branch', () => {
  test('makes a deployment, and the status tells of it', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const commit = newCommit();
    const delivery = newDelivery();
    expect(await tell(made, { repo, commit }, delivery)).toEqual({ status: 202, body: { noted: 1 } });
    expect(await deploymentsOf(made.app.id)).toEqual([
      { seq: 1, state: 'queued', trigger: 'push', ref: 'main', created_by: null },
    ]);
    expect((await statusOf(made)).last_push).toEqual({
      ...{ delivery_id: delivery, branch: 'main', commit, outcome: 'deployed' },
      ...{ deployment_id: expect.any(String), received_at: expect.any(String) },
    });
  });

  test('is that of the person whose account pushed, where it is linked by one of the tenant', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const { owner, coOwner, member } = made.people;
    const other = await gitWorld(database, github.host);
    await linkAccount(made, owner.userId, 71);
    await linkAccount(other, other.people.owner.userId, 72);
    for (const person of [coOwner, member]) await linkAccount(made, person.userId, 73);
    const leaver = made.people.admin.userId;
    await linkAccount(made, leaver, 74);
    await sql`delete from svc.memberships where tenant_id = ${made.tenant.id} and user_id = ${leaver}`.execute(
      database.db,
    );
    // Their own; that of nobody, of another tenant, of two people, of who has left; and what tells no account.
    for (const sender of [71, 70, 72, 73, 74, null, 'octocat']) await tell(made, { repo, sender });
    const by = (await deploymentsOf(made.app.id)).map(({ created_by }) => created_by);
    expect(by).toEqual([owner.userId, null, null, null, null, null, null]);
  });

  test('at the built-in host is that of who pushed, if they are of the tenant', async () => {
    const repo = newRepo();
    const made = await connected(repo, await gitWorld(database, { ...github.host, isBuiltIn: true }));
    const stranger = (await gitWorld(database, github.host)).people.owner;
    const { coOwner } = made.people;
    const numberOf = async ({ userId }: { userId: string }) =>
      (await hostUserOf(database.db, { userId, email: `${userId}@example.test` })).id;
    await linkAccount(made, made.people.owner.userId, 75);
    for (const sender of [await numberOf(coOwner), await numberOf(stranger), 0, 75])
      await tell(made, { repo, sender });
    const by = (await deploymentsOf(made.app.id)).map(({ created_by }) => created_by);
    expect(by).toEqual([coOwner.userId, null, null, null]);
  });

  test('that is told of again does nothing', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const delivery = newDelivery();
    const told = { repo, commit: newCommit() };
    await tell(made, told, delivery);
    expect(await tell(made, told, delivery)).toEqual({ status: 200, body: { noted: 0 } });
    const both = await Promise.all([tell(made, { repo }, 'twice'), tell(made, { repo }, 'twice')]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 202]);
    expect(await deploymentsOf(made.app.id)).toHaveLength(2);
  });

  test('of a commit that is deployed already makes no second one, under whatever number it is told of', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const commit = newCommit();
    await tell(made, { repo, commit });
    await tell(made, { repo, commit });
    expect((await statusOf(made)).last_push.outcome).toBe('repeated');
    await sql`update svc.deployments set state = 'live', commit_sha = ${commit}
      where app_id = ${made.app.id}`.execute(database.db);
    await tell(made, { repo, commit });
    expect(await deploymentsOf(made.app.id)).toHaveLength(1);
    // One that failed is no reason to leave the next out.
    await sql`update svc.deployments set state = 'failed' where app_id = ${made.app.id}`.execute(database.db);
    await tell(made, { repo, commit });
    expect(await deploymentsOf(made.app.id)).toHaveLength(2);
  });

  test('that is told of late deploys the branch as it is, never a commit from before', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const [older, newer] = [newCommit(), newCommit()];
    await tell(made, { repo, commit: newer });
    await tell(made, { repo, commit: older });
    const all = await deploymentsOf(made.app.id);
    expect(all.map(({ state, ref }) => [state, ref])).toEqual([
      ['skipped', 'main'],
      ['queued', 'main'],
    ]);
  });

  test('deploys each app that is connected to the repository, each once', async () => {
    const repo = newRepo();
    const one = await connected(repo);
    const second = await one.newApp();
    await connect(one, repo, second.id);
    const other = await connected(repo);
    const delivery = newDelivery();
    expect((await tell(one, { repo }, delivery)).body).toEqual({ noted: 3 });
    expect((await tell(one, { repo }, delivery)).body).toEqual({ noted: 0 });
    for (const id of [one.app.id, second.id, other.app.id]) expect(await deploymentsOf(id)).toHaveLength(1);
  });

  test('of a repository that was renamed keeps its new name', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    await tell(made, { repo: { ...repo, owner: 'new-org', name: 'renamed' } });
    expect((await statusOf(made)).connection).toMatchObject({
      ...{ repo: 'new-org/renamed', repo_id: repo.id, web_url: `${github.host.webUrl}/new-org/renamed` },
    });
    expect(await deploymentsOf(made.app.id)).toHaveLength(1);
  });
});

describe('what deploys nothing', () => {
  test.each([
    ['another branch', { branch: 'dev' }, 'other_branch'],
    ['a branch whose name only begins alike', { branch: 'main2' }, 'other_branch'],
    ['a branch that was deleted', { deleted: true, commit: '0'.repeat(40) }, 'branch_deleted'],
  ])('%s is noted', async (_name, told, outcome) => {
    const repo = newRepo();
    const made = await connected(repo);
    expect((await tell(made, { repo, ...told })).status).toBe(202);
    expect((await statusOf(made)).last_push.outcome).toBe(outcome);
    expect(await deploymentsOf(made.app.id)).toEqual([]);
  });

  test('an app that is archived, deleted or suspended is noted as not active', async () => {
    for (const set of [
      sql`record = 'archived'`,
      sql`record = 'deleted', deleted_at = now(), purge_after = now()`,
      sql`runtime = 'suspended'`,
    ]) {
      const repo = newRepo();
      const made = await connected(repo);
      await sql`update svc.apps set ${set} where id = ${made.app.id}`.execute(database.db);
      expect((await tell(made, { repo })).status).toBe(202);
      const { rows } = await sql<{ outcome: string }>`
        select outcome from svc.git_pushes where app_id = ${made.app.id}`.execute(database.db);
      expect(rows).toEqual([{ outcome: 'not_active' }]);
      expect(await deploymentsOf(made.app.id)).toEqual([]);
    }
  });

  test('a tag, a repository that nobody is connected to, and other events are not noted at all', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    expect((await tell(made, { repo, ref: 'refs/tags/main' })).status).toBe(200);
    expect((await tell(made, { repo: newRepo() })).status).toBe(200);
    const body = JSON.stringify({ zen: 'Design for failure.' });
    const signed = { 'x-hub-signature-256': signatureOf(github.server.webhookSecret, body) };
    for (const event of ['ping', 'issues', 'installation']) {
      const headers = { ...signed, 'x-github-event': event, 'x-github-delivery': newDelivery() };
      expect((await deliver(made.parts, body, headers)).status).toBe(200);
    }
    expect((await statusOf(made)).last_push).toBeNull();
  });

  test('a repository of the same number at another host is another', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    await sql`update svc.git_connections set host = 'https://other.example' where app_id = ${made.app.id}`.execute(
      database.db,
    );
    expect((await tell(made, { repo })).body).toEqual({ noted: 0 });
  });
});

describe('what is not from the git host', () => {
  test('is refused without being read: unsigned, forged, signed with another secret, changed on the way', async () => {
    const repo = newRepo();
    const made = await connected(repo);
    const body = pushBody({ repo });
    const right = signatureOf(github.server.webhookSecret, body);
    const base = { ...events, 'x-github-delivery': newDelivery() };
    for (const [text, signature] of [
      [body, undefined],
      [body, ''],
      [body, 'sha256='],
      [body, right.toUpperCase()],
      [body, right.replace('sha256=', 'sha1=')],
      [body, right.slice(0, -1)],
      [body, `${right}0`],
      [body, signatureOf('another secret of hooks', body)],
      [body, signatureOf('', body)],
      [`${body} `, right],
      ['', right],
      ['not json', signatureOf('x', 'not json')],
    ] as const) {
      const headers = { ...base, ...(signature === undefined ? {} : { 'x-hub-signature-256': signature }) };
      const answer = await deliver(made.parts, text, headers);
      expect([signature, answer.status, answer.body.code]).toEqual([signature, 401, 'unauthenticated']);
    }
    // Bytes that are no text are not taken for the text that they look like.
    const bytes = new Uint8Array([...new TextEncoder().encode(body), 0xff]);
    expect((await deliver(made.parts, bytes, { ...base, 'x-hub-signature-256': right })).status).toBe(401);
    expect((await statusOf(made)).last_push).toBeNull();
  });

  test('signed, but no push, is refused', async () => {
    const made = await connected(newRepo());
    for (const [body, code] of [
      ['not json', 'malformed_json'],
      ['{}', 'validation_failed'],
      ['[]', 'validation_failed'],
      ['{"ref":"refs/heads/main","after":"x","repository":{"id":1,"full_name":"a/b"}}', 'validation_failed'],
    ] as const) {
      const signed = { 'x-hub-signature-256': signatureOf(github.server.webhookSecret, body) };
      const answer = await deliver(made.parts, body, { ...events, ...signed, 'x-github-delivery': 'x' });
      expect([body, answer.body.code]).toEqual([body, code]);
    }
    const body = pushBody({ repo: newRepo() });
    const signed = { 'x-hub-signature-256': signatureOf(github.server.webhookSecret, body) };
    expect((await deliver(made.parts, body, { ...events, ...signed })).status).toBe(400);
  });

  test('a body may have 5 MiB and not a byte more', async () => {
    const made = await connected(newRepo());
    const send = (size: number) => {
      const body = 'x'.repeat(size);
      const signed = { 'x-hub-signature-256': signatureOf(github.server.webhookSecret, body) };
      return deliver(made.parts, body, { ...events, ...signed, 'x-github-delivery': 'x' });
    };
    expect((await send(webhookBytesMax)).body.code).toBe('malformed_json');
    expect((await send(webhookBytesMax + 1)).status).toBe(413);
  });
});

test('who comes back from the git host is told how to go on, and nothing of the address gets into the page as it is', async () => {
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
