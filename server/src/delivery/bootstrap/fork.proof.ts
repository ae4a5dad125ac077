import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Caller } from '../../core/context.ts';
import { loginHeaders, startServerCopy } from '../../identity/provider/testing.ts';
import { newUser } from '../../testing.ts';
import { bootstrapRoutes } from '../routes.ts';
import { type BootstrapWorld, newSlug, newTemplate, newWorld, useBootstrap, watchCalls } from './testing.ts';

const { database, env } = useBootstrap();

/** An app created by a run, with the given visibility and repository. */
async function newSource(
  world: BootstrapWorld,
  { visibility = 'private', isRepoPrivate = true }: { visibility?: string; isRepoPrivate?: boolean } = {},
) {
  const { id } = await world.start({ repo_private: isRepoPrivate });
  const run = await world.finish(id);
  expect(run.state).toBe('done');
  await sql`update svc.apps set visibility = ${visibility} where id = ${run.app_id}`.execute(database.db);
  return run;
}

async function fork(world: BootstrapWorld, by: Pick<Caller, 'userId'>, body: Record<string, unknown>) {
  const login = await loginHeaders(database, by);
  return env.server.call(login, 'POST', `${world.base}/forks`, { slug: newSlug(), ...body });
}

test('an owner gets a copy of the code and the settings, but not of what belongs to the source', async () => {
  const world = await newWorld(env);
  const source = await newSource(world);
  await sql`
    update svc.apps set summary = 'Short', description = 'Long', auth_mode = 'api_key', data_scopes = '{a,b}',
      cost_center = 'cc', icon_url = 'https://example.test/i.png', visibility = 'public'
    where id = ${source.app_id}`.execute(database.db);
  const { status, body } = await fork(world, world.member, { source: source.slug, name: 'Mine' });
  expect(status).toBe(201);
  expect(body).toMatchObject({ kind: 'fork', source_app_id: source.app_id, template_id: world.template });
  const run = await world.finish(body.id);
  expect(run).toMatchObject({ state: 'done', commit: source.commit });
  const { body: app } = await env.server.call(world.login, 'GET', `${world.base}/apps/${run.app_id}`);
  expect(app).toMatchObject({
    name: 'Mine',
    summary: 'Short',
    description: 'Long',
    auth_mode: 'api_key',
    data_scopes: ['a', 'b'],
    deploy_method: 'static',
    visibility: 'private',
    cost_center: null,
    icon_url: null,
  });
});

const manifest = (name: string, slug: string) => `# What this is.
name: ${name} # shown to people
app:   { slug: '${slug}',  summary: "of ${slug}" }
start:   node server.js
`;

async function fileOf(run: { repo: string }, path: string): Promise<string> {
  const [owner = '', name = ''] = run.repo.split('/');
  const { gitHost, git, dataDir } = env.deps;
  const installation = await gitHost.installationOfOwner(owner);
  const credentials = await gitHost.asInstallation(installation?.id ?? 0).credentials();
  const from = { url: gitHost.remoteUrl({ owner, name }), ...credentials };
  const into = join(dataDir, 'looked', crypto.randomUUID());
  await git.checkOut({ from, ref: 'main', into, signal: new AbortController().signal, bytesMax: 1e6 });
  return Bun.file(join(into, path)).text();
}

test('svc.yaml of a fork names the new app and is otherwise unchanged', async () => {
  const world = await newWorld(env);
  const files = { 'index.html': '<p>', 'svc.yaml': manifest('Template', 'of-template') };
  const template = await newTemplate(env.deps, { ...world, person: world.admin, files });
  const source = await world.finish((await world.start({ template, name: 'First one' })).id);
  const expected = (name: string, slug: string) =>
    manifest('Template', 'of-template').replace('Template', name).replace("'of-template'", `"${slug}"`);
  expect(await fileOf(source, 'svc.yaml')).toBe(expected('First one', source.slug));
  const { body } = await fork(world, world.member, { source: source.slug, name: 'Mine: a copy' });
  const cut = watchCalls(env.deps, (call, when) => {
    if (call === 'copyBranch' && when === 'after' && !isCut) {
      isCut = true;
      throw new Error('The line is cut.');
    }
  });
  let isCut = false;
  const run = await world.finish(body.id, { deps: cut });
  expect([isCut, run.state]).toEqual([true, 'done']);
  expect(run.commit).not.toBe(source.commit);
  expect(await fileOf(run, 'svc.yaml')).toBe(expected('"Mine: a copy"', run.slug));
  expect(await fileOf(run, 'index.html')).toBe('<p>');
});

test('tables are copied without rows and grants, for owners of the source only', async () => {
  const world = await newWorld(env);
  const source = await newSource(world, { visibility: 'public', isRepoPrivate: false });
  const ask = (method: string, app: string, path: string, body?: object) =>
    env.server.call(world.login, method, `${world.base}/apps/${app}/tables${path}`, body);
  const columns = ['id:bigint', 'title:text:none', 'by:text', 'data:jsonb:nullable', 'at:timestamptz:now()'];
  const notes = { name: 'notes', columns, owner_column: 'by', description: 'What is noted' };
  expect((await ask('POST', source.app_id, '', notes)).status).toBe(201);
  for (const index of [{ columns: ['title', 'by'], unique: true, name: 'one_each' }, { columns: ['data'] }])
    expect((await ask('POST', source.app_id, '/notes/indexes', index)).status).toBe(201);
  expect((await ask('PATCH', source.app_id, '/notes/columns/updated_at', { name: 'seen_at' })).status).toBe(
    200,
  );
  const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
  expect((await ask('POST', source.app_id, '/notes/grants', grant)).status).toBe(201);
  const slug = newSlug();
  const wish = { source: source.slug, slug };
  const login = world.login;
  const planned = await env.server.call(login, 'POST', `${world.base}/forks?dry_run=true`, wish);
  const paths = planned.body.plan.changes.map(({ path }: { path: string }) => path);
  expect(paths).toContain('tables');
  expect(paths).toContain('table.columns');
  expect(paths.filter((path: string) => path === 'table.index')).toHaveLength(2);
  const { body } = await fork(world, world.member, wish);
  const run = await world.finish(body.id);
  const shapeOf = async (app: string) => {
    const [{ body: table }, { body: indexes }, { body: grants }] = [
      await ask('GET', app, '/notes'),
      await ask('GET', app, '/notes/indexes'),
      await ask('GET', app, '/notes/grants'),
    ];
    const { name, description, owner_column, columns } = table;
    const indexed = indexes.items.map(({ name, columns, unique }: Record<string, unknown>) => ({
      name,
      columns,
      unique,
    }));
    return [{ name, description, owner_column, columns, indexed }, grants.total];
  };
  const [there, grantsThere] = await shapeOf(source.app_id);
  expect(grantsThere).toBe(1);
  expect(await shapeOf(run.app_id)).toEqual([there, 0]);
  const other = await newUser(database.db, world.tenant.id);
  const { body: theirs } = await fork(world, other, { source: source.slug });
  const made = await sql`select from svc.app_tables where app_id = ${theirs.app_id}`.execute(database.db);
  expect([typeof theirs.app_id, made.rows]).toEqual(['string', []]);
});

test('a user who cannot read the code gets the template, or an error if there is none', async () => {
  const world = await newWorld(env);
  const source = await newSource(world, { visibility: 'public' });
  const other = await newUser(database.db, world.tenant.id);
  const { status, body } = await fork(world, other, { source: source.slug });
  expect(status).toBe(201);
  const run = await world.finish(body.id);
  expect(run).toMatchObject({ state: 'done', created_by: other.userId });
  // The same files as the template, in a commit of its own.
  expect(run.commit).not.toBe(source.commit);
  await sql`update svc.apps set template_id = null where id = ${source.app_id}`.execute(database.db);
  expect(await fork(world, other, { source: source.slug })).toMatchObject({
    status: 403,
    body: { code: 'code_not_readable' },
  });
  expect((await fork(world, other, { source: source.slug, template: world.template })).status).toBe(201);
});

test('code of a repository that is not private is copied for everyone who sees the app', async () => {
  const world = await newWorld(env);
  const source = await newSource(world, { visibility: 'public', isRepoPrivate: false });
  const other = await newUser(database.db, world.tenant.id);
  const { body } = await fork(world, other, { source: source.slug });
  expect(await world.finish(body.id)).toMatchObject({ state: 'done', commit: source.commit });
});

test('an invisible app is not found by members, admins and other tenants, by slug or by id', async () => {
  const world = await newWorld(env);
  const source = await newSource(world);
  const other = await newUser(database.db, world.tenant.id);
  const elsewhere = await newWorld(env);
  for (const ref of [source.slug, source.app_id]) {
    for (const person of [other, world.admin])
      expect((await fork(world, person, { source: ref })).body.code).toBe('not_found');
    expect((await fork(elsewhere, elsewhere.member, { source: ref })).body.code).toBe('not_found');
  }
});

test('a member of both tenants can fork into another tenant by id, but not by slug', async () => {
  const world = await newWorld(env);
  const source = await newSource(world);
  const there = await newWorld(env);
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${there.tenant.id}, ${world.member.userId}, 'tenant_member', now())`.execute(database.db);
  expect((await fork(there, world.member, { source: source.slug })).status).toBe(404);
  const { status, body } = await fork(there, world.member, { source: source.app_id });
  expect(status).toBe(201);
  const run = await there.finish(body.id);
  expect(run).toMatchObject({ state: 'done', commit: source.commit });
  expect(run.repo).toStartWith(`${there.tenant.slug}/`);
});

test('a resource tier above the limit of the tenant is rejected', async () => {
  const world = await newWorld(env);
  const source = await newSource(world);
  await sql`update svc.apps set resource_preset = 'XL' where id = ${source.app_id}`.execute(database.db);
  expect(await fork(world, world.member, { source: source.slug })).toMatchObject({
    status: 422,
    body: { code: 'resource_tier_exceeded' },
  });
});

test('code is not copied if the user loses access after the start', async () => {
  const world = await newWorld(env);
  const source = await newSource(world);
  const { body } = await fork(world, world.member, { source: source.slug });
  const deps = watchCalls(env.deps, async (name, when) => {
    if (name === 'createRepository' && when === 'after')
      await sql`update svc.apps set owner_id = ${world.admin.userId} where id = ${source.app_id}`.execute(
        database.db,
      );
  });
  const run = await world.finish(body.id, { deps });
  expect(run).toMatchObject({ state: 'failed', step: 'seed_repo', failure: { code: 'not_permitted' } });
});

test('a preview does not ask an external host whether the code is readable', async () => {
  const world = await newWorld(env);
  const source = await newSource(world, { visibility: 'public' });
  const other = await newUser(database.db, world.tenant.id);
  const asked = (): never => {
    throw new Error('It was asked.');
  };
  const gitHost = { ...env.deps.gitHost, isBuiltIn: false, asUser: asked, asInstallation: asked };
  const server = await startServerCopy(database, undefined, bootstrapRoutes({ ...env.deps, gitHost }));
  const login = await loginHeaders(database, other);
  const wish = { source: source.slug, slug: newSlug() };
  const { status, body } = await server.call(login, 'POST', `${world.base}/forks?dry_run=true`, wish);
  await server.stop();
  expect([status, body.plan?.warnings.length]).toEqual([200, 1]);
});
