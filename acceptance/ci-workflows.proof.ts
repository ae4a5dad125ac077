import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { githubClaims, gitlabClaims, type OidcIssuer, startOidcIssuer } from '../scripts/oidc-issuer.ts';
import { nodeApp } from './support/apps.ts';
import { run, svcFor } from './support/commands.ts';
import { done, newApp } from './support/people.ts';
import { folderOf, root, startServer, temporaryFolder } from './support/server.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let github: OidcIssuer;
let gitlab: OidcIssuer;
beforeAll(async () => {
  [github, gitlab] = await Promise.all([startOidcIssuer('', 'github'), startOidcIssuer('', 'gitlab')]);
  const trusted = `${github.issuer},${gitlab.issuer}`;
  world = await newWorld(await startServer({ env: { SVC_TRUSTED_ISSUERS: trusted } }));
});
afterAll(() => Promise.all([github?.stop(), gitlab?.stop()]));

/** The file of the guide, with the names of the test in it. */
function workflow(name: string, app: { slug: string }) {
  const guide = readFileSync(join(root, 'docs/guides/ci.md'), 'utf8');
  const [, text = ''] = guide.split(`# ${name}\n`);
  const { tenant } = world;
  return parse(
    text
      .slice(0, text.indexOf('```'))
      .replaceAll('https://svc.example.com', tenant.server.baseUrl)
      .replaceAll('acme/pet-shop/ci', `${tenant.slug}/${app.slug}/ci`)
      .replaceAll('--app pet-shop', `--app ${app.slug}`),
  );
}

/** An app with a service account that trusts the options. */
async function newTrustingApp(...options: string[]) {
  const { tenant, people } = world;
  const app = await newApp(tenant, { owner: people.O }, { deploy_method: 'docker' });
  const svc = svcFor(tenant.server, { token: people.O.token, tenant: tenant.slug });
  const accounts = (...words: string[]) =>
    svc(['service-accounts', ...words, '--app', app.slug, '--execute']);
  expect((await accounts('create', 'ci', '--actions', 'tables,deploy')).code).toBe(0);
  expect((await accounts('trust', 'add', 'ci', ...options)).code).toBe(0);
  return app;
}

/** Runs the commands in a shell each, as a runner does, on a machine without `svc`. */
async function runSteps(
  steps: string[],
  { text, env, home = temporaryFolder() }: { text: string; env: Record<string, string>; home?: string },
) {
  const prefix = join(home, '.local');
  mkdirSync(join(prefix, 'lib'), { recursive: true });
  const pathFile = join(home, 'path');
  writeFileSync(pathFile, '', { flag: 'a' });
  const cwd = folderOf({
    ...nodeApp(text),
    'svc.yaml': 'start: node server.js\ntables: { pets: { columns: ["name:text"] } }\n',
  });
  for (const step of steps) {
    const added = readFileSync(pathFile, 'utf8').trim().split('\n').filter(Boolean);
    const ran = await run(['bash', '-eo', 'pipefail', '-c', step], {
      cwd,
      env: {
        SVC_TOKEN: '',
        SVC_TENANT: '',
        HOME: home,
        npm_config_prefix: prefix,
        GITHUB_PATH: pathFile,
        ...env,
        PATH: [...added, env.PATH ?? process.env.PATH].join(':'),
      },
    });
    if (ran.code !== 0) throw new Error(`${step} ended with ${ran.code}: ${ran.stdout}${ran.stderr}`);
  }
}

const isLive = async (app: { base: string }) => {
  const { items } = await done(world.people.O.call('GET', `${app.base}/deployments`));
  const tables = await done(world.people.O.call('GET', `${app.base}/tables`));
  return [items.map(({ state }: { state: string }) => state), tables.items.length];
};

test('the workflow of the guide deploys from GitHub Actions, and again with the next push', async () => {
  const app = await newTrustingApp('--github', 'acme/pet-shop@main', '--issuer', github.issuer);
  const { jobs, permissions } = workflow('.github/workflows/deploy.yml', app);
  const steps = jobs.deploy.steps.flatMap(({ run: line }: { run?: string }) => line ?? []);
  const runner = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const audience = new URL(request.url).searchParams.get('audience') ?? '';
      return Response.json({ value: await github.sign(githubClaims('acme/pet-shop', 'main', audience)) });
    },
  });
  try {
    expect(permissions).toMatchObject({ 'id-token': 'write', contents: 'read' });
    const env = {
      ...jobs.deploy.env,
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${runner.port}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner',
    };
    const home = temporaryFolder();
    await runSteps(steps, { text: 'one', env, home });
    expect(await isLive(app)).toEqual([['live'], 1]);
    await runSteps(steps.slice(-1), { text: 'two', env, home });
    expect(await isLive(app)).toEqual([['live', 'superseded'], 1]);
  } finally {
    await runner.stop(true);
  }
});

test('the file of the guide deploys from GitLab', async () => {
  const app = await newTrustingApp('--gitlab', 'acme/pet-shop@main', '--issuer', gitlab.issuer);
  const { deploy } = workflow('.gitlab-ci.yml', app);
  const audience = deploy.id_tokens.SVC_OIDC_TOKEN.aud;
  const home = temporaryFolder();
  mkdirSync(join(home, 'lib'), { recursive: true });
  const env = {
    ...deploy.variables,
    SVC_OIDC_TOKEN: await gitlab.sign(gitlabClaims('acme/pet-shop', 'main', audience)),
    npm_config_prefix: home,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
  };
  await runSteps([deploy.script.join('\n')], { text: 'one', env });
  expect(await isLive(app)).toEqual([['live'], 1]);
});
