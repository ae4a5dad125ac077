import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin, type Svc, svcFor } from './support/commands.ts';
import { git, newPageTemplate, newRepository, pageFiles, remoteOf } from './support/git.ts';
import { newPasswordUser, newTenant, type PasswordUser, type Person, type Tenant } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { answerLogin } from './support/sign-in.ts';
import { onTerminal } from './support/terminal.ts';
import { until } from './support/until.ts';

let tenant: Tenant;
let owner: Person;
let svc: Svc;
let template: string;
beforeAll(async () => {
  tenant = await newTenant();
  owner = tenant.member;
  svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
  template = await newPageTemplate(tenant);
});

const newSlug = () => `c-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
const must = async (args: string[]) => {
  const ran = await svc(args);
  expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, ran.stderr]);
  return ran;
};
async function newAppSlug(): Promise<string> {
  const slug = newSlug();
  await must(['apps', 'create', '--slug', slug, '--deploy-method', 'static', '--execute']);
  return slug;
}

/** A person who can sign in at the git host, with a configuration folder for svc. */
async function newLinker(): Promise<{
  person: PasswordUser;
  as: Svc;
  configDir: string;
  env: Record<string, string>;
}> {
  const { server } = tenant;
  const person = await newPasswordUser(server, tenant.slug);
  const { access_token } = await admin(server, ['tokens', 'issue', '--user', person.email]);
  const configDir = join(temporaryFolder(), 'config');
  const env = {
    SVC_BASE_URL: server.baseUrl,
    SVC_TOKEN: access_token!,
    SVC_TENANT: tenant.slug,
    SVC_CONFIG_DIR: configDir,
  };
  const plain = svcFor(server, { token: access_token!, tenant: tenant.slug });
  return { person, configDir, env, as: (args) => plain(args, { env }) };
}

const codeIn = (stderr: string) => {
  const [, address, code] = /Open (\S+) and enter the code (\S+)/.exec(stderr) ?? [];
  return { address: address!, code: code! };
};

describe('svc git-host link', () => {
  test('is approved on the page of the host between two commands', async () => {
    const { person, as, configDir } = await newLinker();
    const began = await as(['git-host', 'link', '--json']);
    expect(began.code).toBe(11);
    const { device_code, user_code } = began.json<{ device_code: string; user_code: string }>();
    const shown = codeIn(began.stderr);
    expect(shown).toEqual({ address: `${tenant.server.baseUrl}/git/login/device`, code: user_code });
    const [file] = readdirSync(join(configDir, 'git-host'));
    expect(statSync(join(configDir, 'git-host', file!)).mode & 0o777).toBe(0o600);

    const tooSoon = await as(['git-host', 'link', '--resume-last']);
    expect([tooSoon.code, codeIn(tooSoon.stderr)]).toEqual([11, shown]);
    await answerLogin(shown, person);
    // So soon after the previous poll: the command polls once, when the host allows it.
    const linked = await as(['git-host', 'link', '--resume-last', '--json', '--verbose']);
    expect([linked.code, linked.json()]).toMatchObject([0, { status: 'linked', account: { kind: 'user' } }]);
    for (const text of [began.stderr, tooSoon.stderr, tooSoon.stdout, linked.stderr, tenant.server.output()])
      expect(text).not.toContain(device_code);
    expect(readdirSync(join(configDir, 'git-host'))).toEqual([]);

    const accounts = (await as(['git-host', 'accounts', 'list', '--json'])).json<{
      items: { id: string }[];
    }>();
    expect(accounts.items).toHaveLength(1);
    expect((await as(['git-host', 'link', '--resume-last'])).code).toBe(5);
    const again = await as(['git-host', 'link', '--device-code', device_code]);
    expect([again.code, again.stderr.includes(device_code)]).toEqual([5, false]);
    const unlink = ['git-host', 'accounts', 'unlink', accounts.items[0]!.id, '--execute'];
    expect([(await as(unlink)).code, (await as(unlink)).code]).toEqual([0, 5]);
  });

  test('that is denied exits 4, and a code is valid for its person only', async () => {
    const { person, as } = await newLinker();
    const began = await as(['git-host', 'link', '--json']);
    const { device_code } = began.json<{ device_code: string }>();
    const foreign = await svc(['git-host', 'link', '--device-code', device_code]);
    expect([foreign.code, foreign.stderr.includes('(not_found)')]).toEqual([5, true]);
    await answerLogin(codeIn(began.stderr), person, 'Deny');
    const denied = await as(['git-host', 'link', '--resume-last', '--wait-approval', '30s']);
    expect([denied.code, denied.stderr.includes('(access_denied)')]).toEqual([4, true]);
  });

  test('on a terminal waits while the person approves', async () => {
    const { person, env } = await newLinker();
    const terminal = onTerminal([join(root, 'svc'), 'git-host', 'link'], { ...process.env, ...env });
    await terminal.sees('enter the code');
    await answerLogin(codeIn(terminal.shown()), person);
    expect([await terminal.exited, terminal.shown().includes('is linked.')]).toEqual([0, true]);
  });
});

describe('svc apps git', () => {
  test('connects a repository whose pushes are deployed, changes its branch, and disconnects it', async () => {
    const slug = await newAppSlug();
    const repo = await newRepository(tenant, owner);
    const connect = ['apps', 'git', 'connect', '--app', slug, '--repo', repo];
    expect((await must([...connect, '--json'])).json()).toHaveProperty('plan');
    const made = (await must([...connect, '--execute', '--json'])).json<{ clone_url: string }>();
    expect(made).toMatchObject({ repo, branch: 'main' });
    expect((await must([...connect, '--direct', '--execute', '--json'])).json()).toMatchObject({
      changed: false,
    });

    // Tokens for rows and deployments neither clone nor push.
    const patOf = async (actions: string) =>
      (
        await must(['pats', 'create', '--name', newSlug(), '--actions', actions, '--execute', '--json'])
      ).json<{
        secret: string;
      }>().secret;
    const [others, code] = [await patOf('deploy,write,read'), await patOf('code')];
    const withPassword = (password: string) => made.clone_url.replace('://', `://x:${password}@`);
    const folder = temporaryFolder();
    const clone = join(folder, 'clone');
    expect((await git(['clone', '-q', withPassword(others), clone], folder)).code).not.toBe(0);
    expect((await git(['clone', '-q', withPassword(code), clone], folder)).code).toBe(0);
    expect(readFileSync(join(clone, 'index.html'), 'utf8')).toBe(pageFiles['index.html']);
    const commit = async (text: string) => {
      writeFileSync(join(clone, 'index.html'), text);
      await git(['commit', '-q', '-a', '-m', text], clone);
      return (await git(['rev-parse', 'HEAD'], clone)).stdout.trim();
    };
    const status = async () =>
      (await must(['apps', 'git', 'status', '--app', slug, '--json'])).json<{
        connection: { branch: string; hook: { state: string } };
        last_push: { commit: string; outcome: string; deployment_id: string | null } | null;
      }>();
    await until('the hook is there', async () => (await status()).connection.hook.state === 'ok', 30_000);
    const pushed = await commit('<h1>Pushed</h1>');
    expect((await git(['push', '-q', withPassword(others), 'HEAD:main'], clone)).code).not.toBe(0);
    expect((await git(['push', '-q', withPassword(code), 'HEAD:main'], clone)).code).toBe(0);
    const first = await until('the push is known', async () => {
      const { last_push } = await status();
      return last_push?.commit === pushed ? last_push : null;
    });
    expect([first.outcome, first.deployment_id]).toEqual(['deployed', expect.any(String)]);
    const live = await until(
      'the push is live',
      async () => {
        const got = await must(['deployments', 'get', first.deployment_id!, '--app', slug, '--json']);
        const deployment = got.json<{ state: string; created_by: string | null }>();
        return deployment.state === 'live' && deployment;
      },
      60_000,
    );
    expect(live.created_by).toBe(owner.id);

    await must(['apps', 'git', 'update', '--app', slug, '--branch', 'release', '--execute']);
    const elsewhere = await commit('<h1>Elsewhere</h1>');
    // With a login instead of a token.
    expect((await git(['push', '-q', remoteOf(tenant, owner, repo), 'HEAD:main'], clone)).code).toBe(0);
    const second = await until('that push is known', async () => {
      const { last_push } = await status();
      return last_push?.commit === elsewhere ? last_push : null;
    });
    expect([second.outcome, second.deployment_id]).toEqual(['other_branch', null]);

    await must(['apps', 'git', 'disconnect', '--app', slug, '--execute']);
    expect((await must(['apps', 'git', 'status', '--app', slug, '--json'])).json()).toMatchObject({
      connected: false,
    });
    const update = await svc(['apps', 'git', 'update', '--app', slug, '--branch', 'main', '--execute']);
    expect([update.code, update.stderr.includes('(not_connected)')]).toEqual([6, true]);
  });

  test('exits with the code of each error', async () => {
    const slug = await newAppSlug();
    const [one, other] = [await newRepository(tenant, owner), await newRepository(tenant, owner)];
    const connect = (repo: string, ...flags: string[]) =>
      svc(['apps', 'git', 'connect', '--app', slug, '--repo', repo, '--execute', ...flags]);
    expect((await connect(`${tenant.slug}/not-there`)).code).toBe(5);
    const mismatch = await connect(one, '--installation-id', '999999999');
    expect([mismatch.code, mismatch.stderr.includes('(installation_mismatch)')]).toEqual([7, true]);
    expect((await connect('a;b/../c')).code).toBe(7);
    expect((await connect(one)).code).toBe(0);
    const second = await connect(other);
    expect([second.code, second.stderr.includes('(already_connected)')]).toEqual([6, true]);
  });

  test('is completed by the state of a browser', async () => {
    const slug = await newAppSlug();
    const repo = await newRepository(tenant, owner);
    const begun = await owner.call('POST', `${tenant.base}/apps/${slug}/git/begin`, {});
    const complete = ['git-host', 'complete', '--state', begun.body.state];
    expect((await svc(complete)).code).toBe(7);
    expect((await must([...complete, '--repo', repo, '--json'])).json()).toMatchObject({ repo });
    expect((await svc([...complete, '--repo', repo])).code).toBe(5);
  });
});

interface Candidate {
  dir: string | null;
  install_command: string | null;
}

describe('the repositories of an account', () => {
  test('installations and repositories are listed, by the only installation where none is named', async () => {
    const repo = await newRepository(tenant, owner);
    const installations = (await must(['git-host', 'installations', 'list', '--json'])).json<{
      items: { id: number; account: string }[];
    }>().items;
    expect(installations.map(({ account }) => account)).toEqual([tenant.slug]);
    const repos = ['git-host', 'installations', 'repos', '--all', '--json'];
    const names = async (args: string[]) =>
      (await must(args)).json<{ items: { full_name: string }[] }>().items.map(({ full_name }) => full_name);
    expect(await names(repos)).toContain(repo);
    expect(await names([...repos, '--installation-id', String(installations[0]!.id)])).toContain(repo);
  });

  test('svc apps detect prints the build settings of a repository, named in any form', async () => {
    const files = {
      'web/package.json': '{"scripts":{"build":"vite build"},"devDependencies":{"vite":"^7.0.0"}}',
    };
    const repo = await newRepository(tenant, owner, { ...pageFiles, ...files });
    const [account, name] = repo.split('/');
    const whole = (await must(['apps', 'detect', '--repo', repo, '--json'])).json();
    expect(whole).toMatchObject({ repo, ref: 'main', deploy_method: 'static' });
    const server = '{"scripts":{"start":"node server.js"},"dependencies":{"express":"^5.0.0"}}';
    const workspace = await newRepository(tenant, owner, {
      'package.json': '{"private":true,"workspaces":["apps/*"]}',
      'yarn.lock': '# yarn lockfile v1\n',
      'apps/api/package.json': server,
      'apps/web/package.json': files['web/package.json'],
    });
    const listed = await must(['apps', 'detect', '--repo', workspace, '--json']);
    const { alternatives, ...first } = listed.json<Candidate & { alternatives: Candidate[] }>();
    const candidates = [first, ...alternatives].map(({ dir, install_command: install }) => [dir, install]);
    expect(candidates).toEqual([
      ['apps/api', 'cd ../.. && yarn install --frozen-lockfile'],
      ['apps/web', 'cd ../.. && yarn install --frozen-lockfile'],
      [null, 'yarn install --frozen-lockfile'],
    ]);
    const text = (await must(['apps', 'detect', '--repo', workspace])).stdout;
    expect(text).toContain('apps/api');
    expect(text).toContain('apps/web');
    const folder = ['--owner', account!, '--repo-name', name!, '--path', 'web', '--ref', 'main'];
    const part = await must(['apps', 'detect', ...folder]);
    expect(part.stdout).toContain('vite');
    expect(part.stdout).toContain('package.json');
    for (const odd of [['--owner', account!], ['--repo', repo, '--owner', account!], []])
      expect((await svc(['apps', 'detect', ...odd])).code).toBe(2);
    expect((await svc(['apps', 'detect', '--repo', repo, '--path', 'nowhere'])).code).toBe(5);
    expect((await svc(['apps', 'detect', '--repo', repo, '--ref', '--upload-pack=x'])).code).toBe(2);
    expect((await svc(['apps', 'detect', '--repo', repo, '--ref=--upload-pack=x'])).code).not.toBe(0);
  });
});

describe('svc apps bootstrap', () => {
  test('watches a run to its end, whose repository can be cloned; a fork is watched by its id', async () => {
    const slug = newSlug();
    const line = ['apps', 'bootstrap', '--template', template, '--slug', slug];
    expect((await must([...line, '--watch', '--json'])).json()).toHaveProperty('plan');
    expect((await svc(['apps', 'get', slug])).code).toBe(5);
    const ran = await must([...line, '--execute', '--watch', '--watch-interval', '1s', '--json']);
    const run = ran.json<{ id: string; repo: string; url: string; clone_url: string; state: string }>();
    expect(run).toMatchObject({ state: 'done', repo: `${tenant.slug}/${slug}`, approval: null });
    expect(ran.stderr).toContain('first_deploy: done');
    const folder = temporaryFolder();
    expect((await git(['clone', '-q', remoteOf(tenant, owner, run.repo), 'clone'], folder)).code).toBe(0);
    expect(existsSync(join(folder, 'clone', 'index.html'))).toBe(true);
    const shown = await must(['apps', 'bootstrap-status', run.id]);
    expect(shown.stdout).toContain(run.url);
    expect(shown.stdout).toContain(run.clone_url);
    const over = await svc(['apps', 'bootstrap-cancel', run.id, '--execute']);
    expect([over.code, over.stderr.includes('(invalid_state_transition)')]).toEqual([6, true]);

    const copy = newSlug();
    const fork = await must(['apps', 'fork', slug, '--slug', copy, '--execute', '--json']);
    const { id } = fork.json<{ id: string }>();
    const watched = await must(['apps', 'bootstrap-status', id, '--watch', '--json']);
    expect(watched.json()).toMatchObject({ state: 'done', kind: 'fork', slug: copy });
    expect((await must(['apps', 'get', copy, '--json'])).json()).toMatchObject({ name: copy });
  });

  test('a failed run exits 9, and prints how to undo it', async () => {
    const repo = await newRepository(tenant, tenant.admin);
    const own = await tenant.admin.call('POST', `${tenant.base}/templates`, { repo, name: 'Soon gone' });
    await tenant.admin.call('DELETE', `/git/api/v3/repos/${repo}`);
    const slug = newSlug();
    const line = ['apps', 'bootstrap', '--template', own.body.id, '--slug', slug, '--execute', '--watch'];
    const ran = await svc([...line, '--json']);
    expect([ran.code, ran.json()]).toMatchObject([
      9,
      { state: 'failed', failure: { code: 'template_unavailable' } },
    ]);
    expect(ran.stderr).toContain(`svc apps delete ${slug} --tenant ${tenant.slug} --execute`);
    const taken = await svc(line);
    expect([taken.code, taken.stderr.includes('(slug_taken)')]).toEqual([6, true]);
  });

  test('on a terminal updates its steps in place, and Ctrl-C does not stop the run', async () => {
    const { env } = await newLinker();
    const line = ['apps', 'bootstrap', '--template', template, '--slug', newSlug(), '--execute'];
    // The polling interval is so long that the end cannot be seen before.
    const watch = ['--watch', '--watch-interval', '10m'];
    const terminal = onTerminal([join(root, 'svc'), ...line, ...watch], {
      ...process.env,
      ...env,
      LANG: 'C.UTF-8',
    });
    await terminal.sees('first_deploy');
    terminal.type('\u0003');
    expect(await terminal.exited).toBe(130);
    expect(terminal.shown()).toContain('The run continues on the server.');
    expect(terminal.shown()).toContain('✓ authorize');
  });

  test('an unknown run or template exits 5', async () => {
    const nobody = Bun.randomUUIDv7();
    expect((await svc(['apps', 'bootstrap-status', nobody])).code).toBe(5);
    expect((await svc(['apps', 'bootstrap-cancel', nobody, '--execute'])).code).toBe(5);
    expect((await svc(['apps', 'bootstrap', '--template', nobody, '--slug', newSlug()])).code).toBe(5);
    expect((await svc(['apps', 'bootstrap', '--resume-last', '--execute'])).code).toBe(5);
  });
});
