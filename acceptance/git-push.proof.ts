import { beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { hasChromium } from './support/chromium.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { browserOf } from './support/console/browsing.ts';
import { newVisitor } from './support/console/world.ts';
import { setApp } from './support/database.ts';
import { git, mustGit, pageFiles, remoteOf } from './support/git.ts';
import { type App, done, newApp, newTenant, type Person, type Tenant, uniqueName } from './support/people.ts';
import { type Files, temporaryFolder, writeFiles } from './support/server.ts';

let tenant: Tenant;
let owner: Person;
let svc: Svc;
beforeAll(async () => {
  tenant = await newTenant();
  owner = tenant.member;
  svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
});

const newSite = (more: { coOwner?: Person } = {}) =>
  newApp(tenant, { owner, ...more }, { deploy_method: 'static' });
const nameOf = ({ slug }: Pick<App, 'slug'>) => `${tenant.slug}/${slug}`;
const remote = (app: Pick<App, 'slug'>, person: Pick<Person, 'token'> = owner) =>
  remoteOf(tenant, person, nameOf(app));
const statusOf = async ({ base }: App) => done(owner.call('GET', `${base}/git`));
const deploymentsOf = async ({ base }: App) => (await done(owner.call('GET', `${base}/deployments`))).items;
const isRepository = async (app: App) =>
  (await owner.call('GET', `/git/api/v3/repos/${nameOf(app)}`)).status === 200;
const built = (command: string): Files => ({
  ...pageFiles,
  'svc.yaml': `build:\n  command: ${JSON.stringify(command)}\nstatic:\n  dir: .\n`,
});

async function newCopy(branch = 'main', files: Files = pageFiles) {
  const folder = temporaryFolder();
  await mustGit(['init', '-q', '-b', branch], folder);
  const commit = async (changed: Files = { 'n.txt': Bun.randomUUIDv7() }) => {
    writeFiles(folder, changed);
    await mustGit(['add', '-A'], folder);
    await mustGit(['commit', '-q', '--allow-empty', '-m', 'A change'], folder);
  };
  await commit(files);
  const push = async (to: string, ...args: string[]) => git(['push', ...args, to, 'HEAD'], folder);
  return { folder, commit, push };
}

/** The lines of the server, without what git adds to them. */
const remoteLines = (stderr: string) =>
  stderr
    .split(/[\r\n]+/)
    .filter((line) => line.startsWith('remote: '))
    .map((line) => line.slice('remote: '.length).trimEnd());

describe('the first push to the repository of an app', () => {
  test('creates and connects it, and deploys the pushed branch', async () => {
    const app = await newSite();
    const copy = await newCopy('master');
    const pushed = await copy.push(remote(app), '-o', 'wait');
    expect([pushed.code, pushed.stderr]).toEqual([0, expect.stringContaining('-> master')]);
    const [first = '', ...lines] = remoteLines(pushed.stderr);
    expect(first).toBe(`Created the repository ${nameOf(app)}, connected to ${app.slug}, branch master.`);
    const [deployment] = await deploymentsOf(app);
    expect(deployment).toMatchObject({ seq: 1, state: 'live', trigger: 'push', created_by: owner.id });
    expect(lines[0]).toStartWith(`Deployment #1 of ${app.slug}: building`);
    expect(lines.at(-1)).toBe(`Deployment #1 of ${app.slug}: live at ${deployment.url}`);
    const { connection } = await statusOf(app);
    expect(connection).toMatchObject({ repo: nameOf(app), branch: 'master', private: true });
    const { items } = await done(owner.call('GET', `${app.base}/audit?per_page=50`));
    expect(items.map(({ action }: { action: string }) => action)).toContain('git.connect');
    const again = temporaryFolder();
    await mustGit(['clone', '-q', remote(app), 'clone'], again);
  });

  test('creates it again after the repository was deleted', async () => {
    const app = await newSite();
    const copy = await newCopy();
    expect((await copy.push(remote(app), '-o', 'wait')).code).toBe(0);
    const remove = ['git-host', 'repos', 'delete', nameOf(app)];
    const preview = await svc([...remove, '--json']);
    expect(preview.json<{ plan: { warnings: string[] } }>().plan.warnings).toEqual([
      expect.stringContaining(`svc apps git disconnect --app ${app.slug} --execute`),
    ]);
    expect((await svc([...remove, '--execute', '--yes'])).code).toBe(0);
    await copy.commit();
    const pushed = await copy.push(remote(app), '-o', 'wait');
    expect([pushed.code, pushed.stderr]).toEqual([0, expect.stringContaining('Created the repository')]);
    expect(pushed.stderr).toContain(`Deployment #2 of ${app.slug}: live at`);
    expect((await statusOf(app)).connection).toMatchObject({ repo: nameOf(app), branch: 'main' });
  });

  test('may be large, by a co-owner, and with a token for the code of this app only', async () => {
    const app = await newSite({ coOwner: tenant.admin });
    const body = { name: uniqueName('git'), actions: ['code'], apps: [app.id] };
    const { secret } = await done(tenant.admin.call('POST', `${tenant.base}/pats`, body));
    const copy = await newCopy('main', {
      ...pageFiles,
      'big.bin': randomBytes(1_200_000).toString('base64'),
    });
    const pushed = await copy.push(remote(app, { token: secret }), '-o', 'wait');
    expect([pushed.code, pushed.stderr]).toEqual([0, expect.stringContaining(': live at ')]);
    await copy.commit();
    expect((await copy.push(remote(app, { token: secret }), '-o', 'wait')).stderr).toContain('#2 of');
  });

  test('is the only thing that creates: not a clone, a dry run, or a request of somebody else', async () => {
    const app = await newSite();
    const copy = await newCopy();
    const nobody = { slug: uniqueName('none') };
    const answers = async (person: Pick<Person, 'token'>) => {
      const [real, none] = [await copy.push(remote(app, person)), await copy.push(remote(nobody, person))];
      return [real, none].map(({ code, stderr }, at) => [
        code,
        stderr.replaceAll([app, nobody][at]!.slug, '<app>').replaceAll(person.token, '<token>'),
      ]);
    };
    for (const person of [tenant.admin, tenant.outsider]) {
      const [real, none] = await answers(person);
      expect(real).toEqual(none!);
      expect(real).toEqual([128, expect.stringContaining('not found')]);
    }
    const clone = await git(['clone', '-q', remote(app), 'clone'], temporaryFolder());
    expect([clone.code, clone.stderr]).toEqual([128, expect.stringContaining('not found')]);
    const dry = await copy.push(remote(app), '--dry-run');
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining('[new branch]')]);
    const body = { name: uniqueName('ci'), actions: ['read', 'write', 'deploy'] };
    const { secret } = await done(owner.call('POST', `${tenant.base}/pats`, body));
    const token = await copy.push(remote(app, { token: secret }));
    expect([token.code, token.stderr]).toEqual([128, expect.stringContaining('needs the action code')]);
    expect([await isRepository(app), (await statusOf(app)).connected]).toEqual([false, false]);

    await done(owner.call('POST', `${app.base}/archive`));
    const archived = await copy.push(remote(app));
    expect([archived.code, archived.stderr]).toEqual([128, expect.stringContaining('is archived')]);
    expect(await isRepository(app)).toBe(false);
  });

  test('by several clients creates one repository', async () => {
    const app = await newSite();
    const copies = await Promise.all(['one', 'two', 'three'].map((branch) => newCopy(branch)));
    const pushed = await Promise.all(copies.map(({ push }) => push(remote(app))));
    expect(pushed.map(({ code, stderr }) => [code, stderr])).toEqual(pushed.map(({ stderr }) => [0, stderr]));
    const created = pushed.filter(({ stderr }) => stderr.includes('Created the repository'));
    expect([created.length, (await deploymentsOf(app)).length]).toEqual([1, 1]);
  });

  test('names the repository that the app has already', async () => {
    const app = await newSite();
    const repo = `${tenant.slug}/${uniqueName('other')}`;
    const connect = ['apps', 'git', 'connect', '--app', app.slug, '--repo', repo, '--create'];
    const preview = await svc([...connect, '--json']);
    expect(JSON.stringify(preview.json())).toContain('repository');
    expect((await svc([...connect, '--execute'])).code).toBe(0);
    const pushed = await (await newCopy()).push(remote(app));
    expect([pushed.code, pushed.stderr]).toEqual([128, expect.stringContaining(`connected to ${repo}`)]);
  });
});

describe('a push prints the truth', () => {
  test('building and how to follow, then live; git status says the same', async () => {
    const app = await newSite();
    const copy = await newCopy('main', built('sleep 1'));
    const pushed = await copy.push(remote(app));
    const [{ id }] = await deploymentsOf(app);
    const log = `${tenant.server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/deployments/${id}`;
    const wait = `svc deployments wait ${id} --app ${app.slug} --tenant ${tenant.slug}`;
    const lines = remoteLines(pushed.stderr).slice(1);
    expect(lines[0]).toMatch(/^Deployment #1 of \S+: building/);
    expect(lines.slice(1)).toEqual([`  id:  ${id}`, `  log: ${log}`, `Follow it with: ${wait}`]);
    expect(pushed.stderr).not.toContain('deployed');
    const status = await statusOf(app);
    expect(status.last_push).toMatchObject({ outcome: 'deployed', deployment_id: id });
    expect(status.last_push.summary).toMatch(/^Deployment #1: (building|live)/);

    expect((await svc(wait.split(' ').slice(1))).code).toBe(0);
    const { last_push } = await statusOf(app);
    expect(last_push).toMatchObject({ deployment: { id, seq: 1, state: 'live' } });
    expect(last_push.summary).toStartWith('Deployment #1: live at http');
    const shown = await svc(['apps', 'git', 'status', '--app', app.slug]);
    expect(shown.stdout).toContain('Deployment #1: live at');
  });

  test('a failure with the last lines and the next command, while the client waits', async () => {
    const app = await newSite();
    const copy = await newCopy('main', built('for n in $(seq 40); do echo line $n; done; exit 3'));
    const pushed = await copy.push(remote(app), '-o', 'wait');
    const [{ id }] = await deploymentsOf(app);
    const lines = remoteLines(pushed.stderr);
    const at = lines.findIndex((line) => line.startsWith(`Deployment #1 of ${app.slug}: failed at build:`));
    expect([at > 0, lines.slice(at + 1).some((line) => line.includes('line 40'))]).toEqual([true, true]);
    expect(pushed.stderr).not.toContain('line 9\n');
    expect(lines.slice(-2)).toEqual([
      `Next: svc deployments logs ${id} --app ${app.slug} --tenant ${tenant.slug}`,
      'The commits are stored, but they are not live.',
    ]);
    // git has no other exit code for it; without the option it exits 0, because the commits are there.
    expect([pushed.code, pushed.stderr]).toEqual([1, expect.stringContaining('-> main')]);
    expect(await mustGit(['ls-remote', remote(app), 'main'], copy.folder)).toContain('refs/heads/main');
    await copy.commit();
    expect((await copy.push(remote(app))).code).toBe(0);
    expect((await svc(['deployments', 'wait', 'latest', '--app', app.slug])).code).toBe(9);
    expect((await statusOf(app)).last_push.summary).toStartWith('Deployment #2: failed at build:');
  });

  test('that a person must review it', async () => {
    const app = await newSite();
    const copy = await newCopy();
    await copy.push(remote(app), '-o', 'wait');
    await setApp(tenant.server, app.id, { visibility: 'public' });
    await copy.commit();
    const lines = remoteLines((await copy.push(remote(app), '-o', 'wait')).stderr);
    expect(lines.join('\n')).toContain(`Deployment #2 of ${app.slug}: waiting for review`);
    expect(lines.at(-1)).toBe(`Next: svc review history --app ${app.slug} --tenant ${tenant.slug}`);
    expect((await statusOf(app)).last_push.summary).toStartWith('Deployment #2: waiting for review');
    const [review] = (await done(owner.call('GET', `${app.base}/reviews`))).items;
    expect(review).toMatchObject({ kind: 'promotion', status: 'pending', note: 'Deployment #2: A change' });
    const { diff } = await done(tenant.admin.call('GET', `${tenant.base}/reviews/${review.id}`));
    expect(diff).toMatchObject({
      before: { deployment: 1, release: 1 },
      after: { deployment: 2, release: 2, commit_message: 'A change' },
      files: { added: 1, changed: 0, removed: 0 },
    });
    // The owner, who pushed, knows that the push does not end in a live version.
    const notified = [owner, tenant.admin].map(async (person) => {
      const { items } = await done(person.call('GET', `${tenant.base}/me/notifications`));
      return items.filter(({ app_id }: { app_id: string }) => app_id === app.id);
    });
    const requested = { kind: 'promotion_requested', path: expect.stringContaining(review.id) };
    expect(await Promise.all(notified)).toEqual([
      [expect.objectContaining(requested)],
      [expect.objectContaining(requested)],
    ]);
    // The next push replaces the one that waits.
    await copy.commit();
    await copy.push(remote(app), '-o', 'wait');
    const { items } = await done(owner.call('GET', `${app.base}/reviews`));
    expect(items.map(({ status }: { status: string }) => status)).toEqual(['pending', 'superseded']);
    await done(tenant.admin.call('POST', `${tenant.base}/reviews/${items[0].id}/approve`, { note: '' }));
    expect((await statusOf(app)).last_push.summary).toStartWith('Deployment #3: live');
  });

  test('that nothing is deployed, and why', async () => {
    const app = await newSite();
    const copy = await newCopy();
    await copy.push(remote(app), '-o', 'wait');
    const said = async (...args: string[]) => {
      await copy.commit();
      return remoteLines((await copy.push(remote(app), ...args)).stderr).join('\n');
    };
    await mustGit(['checkout', '-q', '-b', 'other'], copy.folder);
    const other = await said('-o', 'wait', '-o', 'hurry');
    expect(other).toContain(`Not deployed: ${app.slug} deploys pushes to main, not to other.`);
    expect(other).toContain(
      `svc apps git update --app ${app.slug} --tenant ${tenant.slug} --branch other --execute`,
    );
    expect(other).toContain('The push option hurry is unknown');
    expect((await statusOf(app)).last_push.summary).toStartWith('Not deployed:');
    await mustGit(['checkout', '-q', 'main'], copy.folder);
    await setApp(tenant.server, app.id, { runtime: 'suspended' });
    expect(await said()).toContain(`Not deployed: ${app.slug} is suspended.`);
    await setApp(tenant.server, app.id, { runtime: 'running' });
    await done(owner.call('DELETE', `${app.base}/git`));
    const unconnected = await said();
    expect(unconnected).toContain('Not deployed: no app is connected to this repository.');
    expect(unconnected).toContain(`svc apps git connect --app ${app.slug} --repo ${nameOf(app)}`);
    expect(await deploymentsOf(app)).toHaveLength(1);
  });
});

describe('svc apps git connect --create', () => {
  test('previews and creates a repository of the name of the app, whose first push is deployed', async () => {
    const app = await newSite();
    const line = ['apps', 'git', 'connect', '--app', app.slug, '--create', '--branch', 'release'];
    const preview = await svc(line);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining(nameOf(app))]);
    expect(preview.stdout).toContain('new_repository');
    expect(await isRepository(app)).toBe(false);
    const { plan } = (await svc([...line, '--json'])).json<{ plan: { fingerprint: string } }>();
    const made = await svc([...line, '--execute', '--plan', plan.fingerprint, '--json']);
    expect([made.code, made.json()]).toMatchObject([
      0,
      { repo: nameOf(app), branch: 'release', private: true },
    ]);
    expect((await svc([...line, '--execute', '--json'])).json()).toMatchObject({ changed: false });
    const pushed = await (await newCopy('release')).push(remote(app), '-o', 'wait');
    expect(pushed.stderr).toContain(': live at ');
    const other = [
      ...line.slice(0, 5),
      '--create',
      '--repo',
      `${tenant.slug}/${uniqueName('r')}`,
      '--execute',
    ];
    const refused = await svc(other);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('already_connected')]);
    expect((await svc(['apps', 'git', 'connect', '--app', app.slug])).code).toBe(2);
  });
});

describe.if(hasChromium)('the console', () => {
  test('says where to push, and then what became of the push', async () => {
    const visitor = await newVisitor(tenant.server, tenant.slug, 'Petra Pusher');
    const app = await newApp(tenant, { owner: visitor }, { deploy_method: 'static' });
    const browser = await browserOf(tenant.server, visitor, { width: 360, height: 900 });
    const page = await browser.newPage();
    await page.goto(`${tenant.server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/deployments`);
    const card = page.getByRole('region', { name: 'Repository' });
    await card.getByText(`${tenant.server.baseUrl}/git/${nameOf(app)}.git`).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    const pushed = await (await newCopy()).push(remote(app, visitor), '-o', 'wait');
    expect(pushed.stderr).toContain(': live at ');
    await page.reload();
    await card.getByRole('link', { name: /^Deployment #1: live at/ }).waitFor();
    await browser.close();
  });
});
