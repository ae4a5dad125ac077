import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { newNodeApp, nodeApp, uploadSource } from './support/apps.ts';
import { svcAs } from './support/commands.ts';
import { git, mustGit } from './support/git.ts';
import { done, newApp, newTenant } from './support/people.ts';
import type { Files } from './support/server.ts';
import { askSite, siteOf, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

const tenant = useFixture(newTenant);
const svc = svcAs(() => [tenant, tenant.member]);

/** An app, and what becomes of each deployment of it. */
async function newDeployedApp(files: Files) {
  const owner = tenant.member;
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const deploy = async (source: Files) => {
    const upload_id = await uploadSource(app, source);
    const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
    return until(
      'the deployment has ended',
      async () => {
        const now = await done(owner.call('GET', `${app.base}/deployments/${id}`));
        return now.ended_at !== null && now;
      },
      60_000,
    );
  };
  const buildLog = async (id: string): Promise<string[]> =>
    (await done(owner.call('GET', `${app.base}/deployments/${id}/logs?limit=1000`))).items.map(
      ({ text }: { text: string }) => text,
    );
  return { ...app, deploy, buildLog, ended: await deploy(files) };
}

describe('a deployment that fails', () => {
  test('names the port that the app should listen on, and shows its last 20 lines', async () => {
    const app = await newDeployedApp({
      'svc.yaml': 'start: node server.js\nhealth: { path: /, timeout: 15s }\n',
      'server.js': `for (let at = 1; at <= 30; at++) console.log('line ' + at);
console.log('told ' + process.env.PORT);
setInterval(() => {}, 1000);`,
    });
    const lines = await app.buildLog(app.ended.id);
    const told = lines.find((line) => line.startsWith('told '))?.slice('told '.length);
    expect([app.ended.state, app.ended.failure.code, app.ended.failure.detail]).toEqual([
      'failed',
      'health_check_failed',
      expect.stringMatching(new RegExp(`not healthy within 15 s\\. .*\\bPORT \\(${told}\\)`)),
    ]);
    const from = lines.indexOf('The last lines of the app:') + 1;
    expect(
      lines.slice(
        from,
        lines.findIndex((line) => line.startsWith('Failed: ')),
      ),
    ).toEqual([...Array.from({ length: 19 }, (_, at) => `line ${at + 12}`), `told ${told}`]);
  });

  test('because its start command ends with code 0 says what to change, and shows its last lines', async () => {
    const app = await newDeployedApp({
      'svc.yaml': 'start: node server.js\n',
      'server.js': "console.log('Compiled 3 files.');",
    });
    expect([app.ended.state, app.ended.failure.code, app.ended.failure.detail]).toEqual([
      'failed',
      'health_check_failed',
      expect.stringMatching(
        /start command ended with code 0.*must keep running and listen on PORT.*start in svc\.yaml/,
      ),
    ]);
    const lines = await app.buildLog(app.ended.id);
    expect(lines[lines.indexOf('The last lines of the app:') + 1]).toBe('Compiled 3 files.');
    const worker = await app.deploy({
      ...nodeApp('one'),
      'svc.yaml': 'start: node server.js\nprocesses: { mailer: "echo sent" }\n',
    });
    expect(worker.failure.detail).toMatch(/process mailer ended with code 0.*must keep running/);
  });

  test('by a push notifies the owner', async () => {
    const app = await newNodeApp(tenant, { 'svc.yaml': 'build: exit 3\nstart: node server.js\n' });
    await mustGit(['add', '-A'], app.copy.folder);
    await mustGit(['commit', '-q', '-m', 'It does not build'], app.copy.folder);
    const pushed = await git(['push', '-o', 'wait', 'origin', 'HEAD'], app.copy.folder);
    expect([pushed.code, pushed.stderr]).toEqual([1, expect.stringContaining('failed at build')]);
    const notification = await until('the owner is notified', async () => {
      const { items } = await done(tenant.member.call('GET', `${tenant.base}/me/notifications`));
      return items.find(({ app_id }: { app_id: string }) => app_id === app.id);
    });
    expect(notification).toMatchObject({
      kind: 'deployment_failed',
      title: `Deployment ${app.slug} #1 failed`,
    });
  });
});

test('release: false turns the release command of a Procfile off', async () => {
  const files = { ...nodeApp('one'), Procfile: 'release: exit 4\n' };
  const app = await newDeployedApp(files);
  expect(app.ended).toMatchObject({ state: 'failed', failure: { step: 'release' } });
  const off = await app.deploy({ ...files, 'svc.yaml': 'start: node server.js\nrelease: false\n' });
  expect([off.state, off.failure]).toEqual(['live', null]);
});

test('timeouts.first_byte is how long a visitor waits for the first byte', async () => {
  const slow = (limit: string): Files => ({
    'svc.yaml': `start: node server.js\ntimeouts: { first_byte: ${limit} }\n`,
    'server.js': `require('node:http').createServer(({ url }, response) =>
  setTimeout(() => response.end('${limit}'), url === '/slow' ? 1500 : 0)).listen(process.env.PORT);`,
  });
  const app = await newDeployedApp(slow('500ms'));
  expect(app.ended).toMatchObject({ state: 'live' });
  const site = siteOf(tenant, app);
  const headers = { cookie: await visitorCookie(site, tenant.member), accept: 'application/json' };
  const ask = (path: string) => askSite(site, path, { headers });
  await until('the app answers', async () => (await ask('/')).status === 200);
  const late = await ask('/slow');
  expect([late.status, JSON.parse(late.text).code]).toEqual([504, 'app_timeout']);
  expect(await app.deploy(slow('30s'))).toMatchObject({ state: 'live' });
  await until('the next version answers', async () => (await ask('/')).text === '30s');
  expect(await ask('/slow')).toMatchObject({ status: 200, text: '30s' });
});

test('the log of an app names the deployment that wrote each line', async () => {
  const files = (version: string): Files => ({
    'svc.yaml': 'start: node server.js\n',
    'server.js': `console.log('I am ${version}');
require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT);`,
  });
  const app = await newDeployedApp(files('one'));
  await app.deploy(files('two'));
  const shown = await until('both have written', async () => {
    const { stdout } = await svc(['logs', '--app', app.id]);
    return stdout.includes('I am one') && stdout.includes('I am two') && stdout;
  });
  expect(shown).toMatch(/^\S+Z #1 I am one$/m);
  expect(shown).toMatch(/^\S+Z #2 I am two$/m);
  const lines = (await svc(['logs', '--app', app.id, '--json'])).json<
    { text: string; deployment: number }[]
  >();
  expect(lines.filter(({ text }) => text.startsWith('I am')).map((line) => line.deployment)).toEqual([1, 2]);
});
