import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { GitFailure } from '../drivers/git-client/git-client.ts';
import { loginOf } from '../identity/testing.ts';
import { fail } from '../plumbing/problem.ts';
import { newUser, type TestDatabase, testDatabase } from '../testing.ts';
import { creatorOf } from './as-creator.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { hookLooksMax } from './rules.ts';
import { connect } from './steps/connect.ts';
import { findRun } from './store.ts';
import {
  type BootstrapPlace,
  type BootstrapWorld,
  bootstrapPlace,
  bootstrapWorld,
  made,
  newRepository,
  newSlug,
  settleDeployments,
  until,
  type Watch,
  watched,
  withWorker,
} from './testing.ts';

let database: TestDatabase;
let place: BootstrapPlace;
beforeAll(async () => {
  database = await testDatabase();
  place = await bootstrapPlace(database);
});
afterAll(async () => {
  await place.stop();
  await database.close();
});

/** The run when it has ended, carried out by a worker of the test's own. */
const ended = (world: BootstrapWorld, id: string, parts: BootstrapParts = place.parts) =>
  withWorker(parts, () =>
    until('the run ends', async () => {
      const run = await world.look(id);
      return run.ended_at === null ? null : run;
    }),
  );

const stateOf = (run: { steps: { name: string; state: string }[] }) =>
  Object.fromEntries(run.steps.map(({ name, state }) => [name, state]));

describe('a run', () => {
  test('makes the app at once, then its repository, the connection and the first deployment', async () => {
    const world = await bootstrapWorld(place);
    const slug = newSlug();
    const started = await world.start({ slug, name: 'Hello' });
    expect(started).toMatchObject({ state: 'running', step: 'create_repo', approval: null, repo: null });
    expect(stateOf(started)).toMatchObject({
      authorize: 'done',
      reserve_app: 'done',
      create_repo: 'waiting',
    });
    const deployments = settleDeployments(place.parts, world.tenant.id);
    const run = await ended(world, started.id);
    deployments.stop();
    expect(run).toMatchObject({ state: 'done', step: null, failure: null, undo: [], slug });
    expect(new Set(Object.values(stateOf(run)))).toEqual(new Set(['done']));
    expect(run).toMatchObject({ repo: `${world.tenant.slug}/${slug}`, template_id: world.template });
    expect(run.url).toStartWith(`http://${slug}.apps.example.test`);
    expect(run.clone_url).toBe(`${place.parts.baseUrl}/git/${world.tenant.slug}/${slug}.git`);
    const { body: app } = await place.server.call(world.login, 'GET', `${world.base}/apps/${slug}`);
    expect(app).toMatchObject({ id: run.app_id, name: 'Hello', owner_id: world.member.userId });
    expect(app.deploy_method).toBe('static');
    const things = await made(place.parts, world, slug);
    expect(things).toEqual({ apps: 1, repositories: 1, connections: 1, hooks: 1, deployments: 1 });
    const { owner, name } = { owner: world.tenant.slug, name: slug };
    const head = await place.parts.gitHost
      .asInstallation(await world.installation())
      .commit({ owner, name }, 'main');
    expect(head).toMatchObject({ sha: run.commit, message: 'Begin with A page' });
  });

  test('is seen by its starter, the owners of its app and admins, and by nobody else', async () => {
    const world = await bootstrapWorld(place);
    const { id, app_id } = await world.start();
    const look = async (userId: string) => {
      const login = await loginOf(database, { userId });
      return (await place.server.call(login, 'GET', `${world.base}/bootstraps/${id}`)).status;
    };
    const other = await newUser(database.db, world.tenant.id);
    expect(await look(world.admin.userId)).toBe(200);
    expect(await look(other.userId)).toBe(404);
    await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
      values (${app_id}, ${other.userId}, ${other.userId}, now())`.execute(database.db);
    expect(await look(other.userId)).toBe(200);
  });

  test('takes its slug with its start: a second one is refused, and so is a preview', async () => {
    const world = await bootstrapWorld(place);
    const body = { template: world.template, slug: newSlug() };
    const start = (query: string) =>
      place.server.call(world.login, 'POST', `${world.base}/bootstraps${query}`, body);
    const previewed = await start('?dry_run=true');
    expect(previewed).toMatchObject({ status: 200, body: { dry_run: true } });
    const paths = previewed.body.plan.changes.map(({ path }: { path: string }) => path);
    for (const word of ['slug', 'repository', 'connection', 'deployment'])
      expect(paths.some((path: string) => path.includes(word))).toBe(true);
    expect(await made(place.parts, world, body.slug)).toEqual({
      ...{ apps: 0, repositories: 0, connections: 0, hooks: 0, deployments: 0 },
    });
    expect((await start('')).status).toBe(201);
    for (const query of ['', '?dry_run=true'])
      expect(await start(query)).toMatchObject({ status: 409, body: { code: 'slug_taken' } });
  });

  test('that is asked for again with the same key is the same run', async () => {
    const world = await bootstrapWorld(place);
    const body = { template: world.template, slug: newSlug() };
    const headers = { ...world.login, 'idempotency-key': Bun.randomUUIDv7() };
    const start = () => place.server.call(headers, 'POST', `${world.base}/bootstraps`, body);
    const first = await start();
    expect(first.status).toBe(201);
    expect(await start()).toEqual(first);
  });

  test('from a built-in template begins with its files and tables', async () => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start({ template: 'react' });
    const deployments = settleDeployments(place.parts, world.tenant.id);
    const run = await ended(world, id);
    deployments.stop();
    expect(run).toMatchObject({ state: 'done', template_id: '019a8000-0000-7000-8000-000000000001' });
    const [owner = '', name = ''] = run.repo.split('/');
    const repo = { owner, name };
    const reader = place.parts.gitHost.asInstallation(await world.installation());
    const file = { path: 'package.json', ref: 'main', bytesMax: 100_000 };
    expect(await reader.readFile(repo, file)).toContain(run.slug);
    const { rows } = await sql<{ tables: number }>`
      select count(*) as tables from svc.app_tables where app_id = ${run.app_id}`.execute(database.db);
    expect(rows[0]?.tables).toBeGreaterThan(0);
  });

  test('is refused for a template that is not there, and for a repository that is', async () => {
    const world = await bootstrapWorld(place);
    const start = (body: Record<string, unknown>) =>
      place.server.call(world.login, 'POST', `${world.base}/bootstraps`, { slug: newSlug(), ...body });
    for (const template of ['nothing', Bun.randomUUIDv7()])
      expect(await start({ template })).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const { name } = await newRepository(place.parts, { ...world, person: world.admin, files: { a: 'a' } });
    const { template } = world;
    expect(await start({ template, repo_name: name })).toMatchObject({ body: { code: 'repo_exists' } });
    expect(await start({ template, installation_id: 999_999 })).toMatchObject({
      status: 409,
      body: { code: 'installation_missing' },
    });
    const elsewhere = await bootstrapWorld(place);
    expect(await start({ template, installation_id: await elsewhere.installation() })).toMatchObject({
      status: 422,
      body: { code: 'installation_mismatch' },
    });
    expect(await start({ template, git_host_owner: elsewhere.tenant.slug })).toMatchObject({
      body: { code: 'installation_mismatch' },
    });
  });
});

describe('what goes wrong', () => {
  const throwing = (call: Parameters<Watch>[0], error: () => unknown) =>
    watched(place.parts, (name, when) => {
      if (name === call && when === 'before') throw error();
    });
  const away = () => fail('git_host_unavailable', { detail: 'It is away.' });

  test('a git host that is away for a while is waited for', async () => {
    const world = await bootstrapWorld(place);
    const { id, slug } = await world.start();
    const deployments = settleDeployments(place.parts, world.tenant.id);
    let left = 3;
    const parts = watched(place.parts, (name, when, [wanted]) => {
      if (name !== 'createRepository' || when !== 'before') return;
      if ((wanted as { name: string }).name === slug && left-- > 0) throw away();
    });
    const run = await ended(world, id, parts);
    deployments.stop();
    expect(run.state).toBe('done');
    expect(run.steps[2]).toMatchObject({ name: 'create_repo', attempts: 4 });
  });

  test('one that stays away ends the run at the fifth try, and what was made is listed', async () => {
    const world = await bootstrapWorld(place);
    const { id, slug } = await world.start();
    const run = await ended(
      world,
      id,
      throwing('pushFirst', () => new GitFailure('unreachable', 'Gone.')),
    );
    expect(run).toMatchObject({
      ...{ state: 'failed', step: 'seed_repo' },
      failure: { code: 'git_host_unavailable', detail: 'Gone.' },
    });
    expect(run.steps[3].attempts).toBe(5);
    expect(run.undo).toHaveLength(2);
    expect(await made(place.parts, world, slug)).toMatchObject({ apps: 1, repositories: 1, deployments: 0 });
  });

  test('a push that is refused, a template that is gone, and a host that says no are final', async () => {
    const world = await bootstrapWorld(place);
    const refused = await world.start();
    const push = throwing('pushFirst', () => new GitFailure('refused', 'protected branch'));
    expect(await ended(world, refused.id, push)).toMatchObject({
      failure: { code: 'push_rejected', detail: 'protected branch' },
    });
    const unreadable = await world.start();
    const checkOut = throwing('checkOut', () => new GitFailure('not_found', 'no such ref'));
    expect(await ended(world, unreadable.id, checkOut)).toMatchObject({
      failure: { code: 'template_unavailable' },
    });
    const gone = await world.start();
    await sql`delete from svc.templates where id = ${world.template}`.execute(database.db);
    expect(await ended(world, gone.id)).toMatchObject({ failure: { code: 'template_unavailable' } });
    // What failed can be begun anew under another name only; nothing was removed.
    expect(await made(place.parts, world, gone.slug)).toMatchObject({ apps: 1, repositories: 1 });
  });

  test('a template whose adder can not read it any more hands nothing out', async () => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start();
    await sql`update svc.templates set added_by = ${world.member.userId} where id = ${world.template}`.execute(
      database.db,
    );
    expect(await ended(world, id)).toMatchObject({
      ...{ state: 'failed', step: 'seed_repo', failure: { code: 'template_unavailable' } },
    });
  });

  test('a hook is waited for by looks: the time that the server was away does not count', async () => {
    const world = await bootstrapWorld(place);
    const { id, app_id: appId } = await world.start();
    await sql`insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, branch, is_private,
        installation_id, web_url, clone_url, hook_state, hook_detail, connected_by, connected_at)
      values (${appId}, ${world.tenant.id}, 'h', 1, 'o/r', 'main', true, 1, '', '', 'waiting', '',
        ${world.member.userId}, now())`.execute(database.db);
    const look = async (looks: number) => {
      await sql`update svc.bootstrap_steps set state = 'running', started_at = now() - interval '1 h',
          output = ${JSON.stringify({ isConnected: true, looks })}
        where run_id = ${id} and name = 'connect'`.execute(database.db);
      const run = await findRun(database.db, world.tenant.id, id);
      if (!run) throw new Error('The run is gone.');
      const creator = await creatorOf(database.db, run);
      const signal = new AbortController().signal;
      const finish = await connect({ parts: place.parts, run, creator, signal });
      return finish({} as Parameters<typeof finish>[0]);
    };
    expect(await look(0)).toMatchObject({ state: 'running', output: { isConnected: true, looks: 1 } });
    await expect(look(hookLooksMax - 1)).rejects.toThrow('made no hook');
    // Nobody is to go on with it.
    await sql`update svc.bootstrap_runs set state = 'canceled', ended_at = now() where id = ${id}`.execute(
      database.db,
    );
  });

  test("a repository that somebody makes first is not this run's", async () => {
    const world = await bootstrapWorld(place);
    const started = await world.start();
    let isMade = false;
    const parts = watched(place.parts, async (name, when) => {
      if (name !== 'createRepository' || when !== 'before' || isMade) return;
      isMade = true;
      const wanted = { ...world, person: world.admin, name: started.slug, files: { a: 'a' } };
      await newRepository(place.parts, wanted);
    });
    const run = await ended(world, started.id, parts);
    expect(run).toMatchObject({ failure: { code: 'repo_exists' }, step: 'create_repo', repo: null });
    expect(run.undo).toEqual([`svc apps delete ${started.slug} --tenant ${world.tenant.slug} --execute`]);
  });

  test('who is taken out of the tenant meanwhile gets nothing more', async () => {
    const world = await bootstrapWorld(place);
    const { id, slug } = await world.start();
    const parts = watched(place.parts, async (name, when) => {
      if (name !== 'createRepository' || when !== 'after') return;
      await sql`update svc.users set status = 'suspended' where id = ${world.member.userId}`.execute(
        database.db,
      );
    });
    const admin = await loginOf(database, world.admin);
    const look = async () => (await place.server.call(admin, 'GET', `${world.base}/bootstraps/${id}`)).body;
    const run = await ended({ ...world, look }, id, parts);
    expect(run).toMatchObject({ state: 'failed', failure: { code: 'not_permitted' }, step: 'create_repo' });
    expect(await made(place.parts, world, slug)).toMatchObject({ connections: 0, deployments: 0 });
  });

  test('an app that is deleted meanwhile ends the run', async () => {
    const world = await bootstrapWorld(place);
    const { id, app_id } = await world.start();
    const parts = watched(place.parts, async (name, when) => {
      if (name === 'pushFirst' && when === 'after')
        await place.server.call(world.login, 'DELETE', `${world.base}/apps/${app_id}`);
    });
    const run = await ended(world, id, parts);
    expect(run).toMatchObject({ failure: { code: 'app_not_active' }, step: 'connect' });
  });

  test.each([
    ['build_failed', 'build_failed'],
    ['health_check_failed', 'health_check_failed'],
    ['lost', 'deploy_failed'],
  ])('a deployment that fails with %s ends it with %s', async (code, expected) => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start();
    const deployments = settleDeployments(place.parts, world.tenant.id, { state: 'failed', code });
    const run = await ended(world, id);
    deployments.stop();
    expect(run).toMatchObject({
      ...{ state: 'failed', step: 'first_deploy' },
      failure: { code: expected, detail: 'It did not work.' },
    });
  });
});

describe('to cancel', () => {
  const cancel = (world: BootstrapWorld, id: string, login = world.login) =>
    place.server.call(login, 'POST', `${world.base}/bootstraps/${id}/cancel`);

  test('stops a run that nobody works on at once; again changes nothing; others have no such run', async () => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start();
    const admin = await loginOf(database, world.admin);
    expect((await cancel(world, id, admin)).status).toBe(404);
    const canceled = await cancel(world, id);
    expect(canceled.body).toMatchObject({ state: 'canceled', step: null });
    expect(canceled.body.undo).toHaveLength(1);
    expect(await cancel(world, id)).toMatchObject({ status: 200, body: { changed: false } });
    expect((await ended(world, id)).state).toBe('canceled');
  });

  test('lets the step that is under way end, and begins no other', async () => {
    const world = await bootstrapWorld(place);
    const { id, slug } = await world.start();
    const parts = watched(place.parts, async (name, when) => {
      if (name === 'createRepository' && when === 'after')
        expect((await cancel(world, id)).body.state).toBe('running');
    });
    const run = await ended(world, id, parts);
    expect(run.state).toBe('canceled');
    expect(stateOf(run)).toMatchObject({ create_repo: 'done', seed_repo: 'waiting' });
    expect(await made(place.parts, world, slug)).toMatchObject({ apps: 1, repositories: 1 });
  });

  test('leaves no step under way that nobody works on, and is no cancelation where the run has ended otherwise', async () => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start();
    await sql`update svc.bootstrap_steps set state = 'running', output = '{}'
      where run_id = ${id} and name = 'first_deploy'`.execute(database.db);
    expect(stateOf((await cancel(world, id)).body)).toMatchObject({ first_deploy: 'waiting' });
    const other = await world.start();
    await sql`update svc.bootstrap_runs set state = 'done', cancel_asked = true, ended_at = now()
      where id = ${other.id}`.execute(database.db);
    expect(await cancel(world, other.id)).toMatchObject({ body: { code: 'invalid_state_transition' } });
  });

  test('is refused for one that has ended otherwise', async () => {
    const world = await bootstrapWorld(place);
    const { id } = await world.start();
    const deployments = settleDeployments(place.parts, world.tenant.id);
    expect((await ended(world, id)).state).toBe('done');
    deployments.stop();
    expect(await cancel(world, id)).toMatchObject({
      status: 409,
      body: { code: 'invalid_state_transition' },
    });
  });
});
