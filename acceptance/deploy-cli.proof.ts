import { describe, expect, test } from 'bun:test';
import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { staticSource } from './support/apps.ts';
import { svcAs } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { type App, done, newApp } from './support/people.ts';
import { type Files, folderOf, root } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld } from './support/world.ts';

const world = useFixture(newWorld);
const asOwner = svcAs(() => [world.tenant, world.people.O]);

interface Deployed {
  id: string;
  seq: number;
  state: string;
  url: string;
  failure: { code: string; step: string; detail: string } | null;
}

const secret = 'very-secret-value-1234567';
const newSite = (set: Record<string, unknown> = {}) =>
  newApp(
    world.tenant,
    { owner: world.people.O, coOwner: world.people.C },
    { deploy_method: 'static', ...set },
  );
const built = (command: string, more: Files = {}): Files => ({
  'index.html': '<p>',
  'svc.yaml': `build:\n  command: ${JSON.stringify(command)}\nstatic:\n  dir: .\n`,
  ...more,
});
const deploy = ({ id }: App, files: Files, ...args: string[]) =>
  asOwner(['deploy', '--app', id, '--from-dir', folderOf(files), ...args]);

describe('svc deploy', () => {
  test('previews and changes nothing', async () => {
    const app = await newSite();
    const ran = await deploy(app, {
      ...staticSource(),
      '.env': `TOKEN=${secret}`,
      'node_modules/x/y.js': '',
    });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining('--execute')]);
    expect(ran.stderr).toContain('Excluded: .env, node_modules.');
    const { body } = await world.as.O('GET', `${app.base}/deployments`);
    expect(body.items).toEqual([]);
  });

  test('previews the deployment, executes only that with --plan, and refuses the impossible before the upload', async () => {
    const app = await newSite();
    const planned = await deploy(app, staticSource(), '--json');
    const { operation, fingerprint } = planned.json<{ plan: { operation: string; fingerprint: string } }>()
      .plan;
    expect(operation).toBe('deployments.create');
    const sent = ['--execute', '--json', '--plan', fingerprint];
    expect((await deploy(app, staticSource(), ...sent)).json<Deployed>().state).toBe('live');
    expect((await deploy(app, staticSource(), ...sent)).code).toBe(15);
    const composed = await newSite({ deploy_method: 'compose' });
    for (const args of [[], ['--execute']]) {
      const ran = await deploy(composed, { 'compose.yaml': 'services: {}\n' }, ...args);
      expect([ran.code, ran.stderr.includes('runtime_unsupported')]).toEqual([6, true]);
      expect(ran.stderr).not.toContain('1 file');
    }
    const pending = await world.as.O('POST', `${app.base}/deployments`, { upload_pending: true });
    expect([pending.status, pending.body.errors[0].field]).toEqual([400, 'upload_pending']);
  });

  test('uploads a folder, prints the build log, and ends when the app is live', async () => {
    const app = await newSite();
    const folder = folderOf({
      ...built('./make.sh'),
      'make.sh': '#!/bin/sh\necho building it; cat secret.txt .env 2>/dev/null; cp index.html made.html\n',
      '.gitignore': 'secret.txt\n',
      'secret.txt': secret,
      '.env': secret,
    });
    chmodSync(join(folder, 'make.sh'), 0o755);
    symlinkSync('index.html', join(folder, 'link.html'));
    const gone = await asOwner(['deploy', '--app', app.id, '--from-dir', folder, '--execute', '--json']);
    // A release contains only files: the link was uploaded as one.
    expect([gone.code, gone.json<Deployed>().failure?.detail]).toEqual([
      9,
      expect.stringContaining('link.html'),
    ]);
    const ran = await deploy(app, built('echo building it; cp index.html made.html'), '--execute', '--json');
    expect([ran.code, ran.json<Deployed>().state]).toEqual([0, 'live']);
    expect(ran.stderr).toContain('building it');
    expect(gone.stderr + ran.stderr).not.toContain(secret);
    const { url } = ran.json<Deployed>();
    expect(url).toContain('apps.');
  });

  test('shows each step and each line while the build still runs', async () => {
    const app = await newSite();
    // Only the cancellation below ends this build.
    const folder = folderOf(built('echo the first words; sleep 3600'));
    const deploying = Bun.spawn(
      [join(root, 'svc'), 'deploy', '--app', app.id, '--from-dir', folder, '--execute'],
      { env: { ...process.env, ...login() }, stdout: 'pipe', stderr: 'pipe' },
    );
    const reader = deploying.stderr.pipeThrough(new TextDecoderStream()).getReader();
    let shown = '';
    const readUntil = async (wanted: RegExp) => {
      while (!wanted.test(shown)) {
        const { value, done: ended } = await reader.read();
        if (ended) throw new Error(`The deployment ended after: ${shown}`);
        shown += value;
      }
    };
    await readUntil(/^\S+Z the first words$/m);
    expect(shown).toMatch(/Unpacking the source.*svc\.yaml sets.*Z \$ echo the first words/s);
    const { body } = await world.as.O('GET', `${app.base}/deployments`);
    expect(body.items).toMatchObject([{ state: 'building', step: 'build' }]);
    const of = ['--app', app.id, '--execute'];
    expect((await asOwner(['deployments', 'cancel', 'latest', ...of])).code).toBe(0);
    await readUntil(/#1 was canceled/);
    expect(await deploying.exited).toBe(9);
  });

  test('accepts a token with deploy in SVC_API_KEY, for its app only, and explains why it refuses others', async () => {
    const [app, other] = [await newSite(), await newSite()];
    const create = ['pats', 'create', '--name', 'ci', '--app', app.id, '--actions'];
    const preview = await asOwner([...create, 'deploy']);
    expect([preview.code, preview.stdout]).toEqual([
      0,
      expect.stringContaining('+ allows.deploy: Deploy apps'),
    ]);
    const tokenFor = async (actions: string) =>
      (await asOwner([...create, actions, '--execute', '--json'])).json<{ secret: string }>().secret;
    const [deploys, others] = [await tokenFor('deploy'), await tokenFor('write,code,read')];
    const asToken = (key: string, ...args: string[]) =>
      asOwner(args, { env: { SVC_TOKEN: undefined, SVC_API_KEY: key } });
    const fromDir = ['--from-dir', folderOf(staticSource()), '--execute'];
    const ran = await asToken(deploys, 'deploy', '--app', app.id, ...fromDir, '--json');
    expect([ran.code, ran.json<Deployed>().state]).toEqual([0, 'live']);
    const listed = await asToken(deploys, 'deployments', 'list', '--app', app.id, '--json');
    expect(listed.json<{ items: Deployed[] }>().items.map(({ state }) => state)).toEqual(['live']);
    const logs = await asToken(deploys, 'deployments', 'logs', ran.json<Deployed>().id, '--app', app.id);
    expect(logs.code).toBe(0);
    expect((await asToken(deploys, 'deploy', '--app', other.id, ...fromDir)).code).toBe(5);
    const refused = await asToken(others, 'deploy', '--app', app.id, ...fromDir);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('the action deploy')]);
    expect(refused.stderr).toContain('svc pats create --actions');
    expect((await asToken(deploys, 'logs', '--app', app.id)).code).toBe(3);
    expect((await asToken(deploys, 'apps', 'delete', app.id, '--execute')).code).toBe(3);
    const { body } = await world.as.O('GET', `${app.base}/audit?per_page=5`);
    expect(body.items.map(({ actor }: { actor: { kind: string } }) => actor.kind)).toContain('pat');
  });

  test('exits 9 when the build fails, prints why, and keeps the live version', async () => {
    const app = await newSite();
    expect((await deploy(app, staticSource(), '--execute')).code).toBe(0);
    const ran = await deploy(app, built('echo the last words >&2; exit 3'), '--execute', '--json');
    expect([ran.code, ran.json<Deployed>()]).toEqual([
      9,
      expect.objectContaining({
        state: 'failed',
        failure: expect.objectContaining({ code: 'build_failed' }),
      }),
    ]);
    expect(ran.stderr).toContain('the last words');
    expect(ran.stderr).toContain('#2 failed');
    const quiet = await deploy(app, built('echo the last words; exit 3'), '--execute', '--quiet');
    expect([quiet.code, quiet.stderr.includes('the last words')]).toEqual([9, true]);
    const listed = await asOwner(['deployments', 'list', '--app', app.id, '--json']);
    expect(listed.json<{ items: Deployed[] }>().items.map(({ state }) => state)).toEqual([
      'failed',
      'failed',
      'live',
    ]);
  });

  test('exits 11 when a review is needed first', async () => {
    const app = await newSite();
    expect((await deploy(app, staticSource(), '--execute')).code).toBe(0);
    await setApp(world.tenant.server, app.id, { visibility: 'public' });
    const ran = await deploy(app, staticSource(), '--execute', '--json');
    expect([ran.code, ran.json<Deployed>().state]).toEqual([11, 'built']);
    expect(ran.stderr).toContain('waits for a review');
  });

  test('exits 10 after its time and 130 at Ctrl-C, and the deployment continues', async () => {
    const app = await newSite();
    const late = await deploy(app, built('sleep 4'), '--execute', '--json', '--timeout', '2s');
    expect([late.code, late.stderr]).toEqual([10, expect.stringContaining('it continues')]);
    const { id } = late.json<Deployed>();
    const child = Bun.spawn([join(root, 'svc'), 'deployments', 'logs', id, '--app', app.id, '--follow'], {
      env: { ...process.env, ...login() },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const end = await child.exited;
    expect([end, await new Response(child.stdout).text()]).toEqual([0, expect.stringContaining('live')]);
    const folder = folderOf(built('echo begun; sleep 4'));
    const stopped = Bun.spawn(
      [join(root, 'svc'), 'deploy', '--app', app.id, '--from-dir', folder, '--execute'],
      {
        env: { ...process.env, ...login() },
        stdout: 'pipe',
        stderr: 'pipe',
      },
    );
    await until('it builds', async () => {
      const { body } = await world.as.O('GET', `${app.base}/deployments?state=building`);
      return body.items.length === 1;
    });
    stopped.kill('SIGINT');
    expect(await stopped.exited).toBe(130);
    expect(await new Response(stopped.stderr).text()).toContain('continues on the server');
    const next = await world.as.O('GET', `${app.base}/deployments`);
    expect(next.body.items[0].state).not.toBe('canceled');
  });

  test('does not wait with --detach; the deployment can be canceled and read', async () => {
    const app = await newSite();
    const ran = await deploy(app, built('sleep 20'), '--execute', '--detach', '--json');
    const { id, state } = ran.json<Deployed>();
    expect([ran.code, state]).toEqual([0, 'queued']);
    const of = [id, '--app', app.id];
    expect((await asOwner(['deployments', 'cancel', ...of, '--execute'])).code).toBe(0);
    await until('it is canceled', async () => {
      const got = await asOwner(['deployments', 'get', ...of, '--json']);
      return got.json<Deployed>().state === 'canceled';
    });
    expect((await asOwner(['deployments', 'rollback', ...of, '--execute'])).code).toBe(6);
    expect((await asOwner(['deploy', '--app', app.id, '--execute'])).code).toBe(6);
    expect((await asOwner(['deploy', '--app', 'not-there', '--execute'])).code).toBe(5);
    expect((await deploy(app, {}, '--execute')).code).toBe(7);
  });

  test('is waited for by id or as the latest: 0 live, 9 failed, 10 timed out, 11 needs a review', async () => {
    const app = await newSite();
    const of = ['--app', app.id];
    const wait = (which: string, ...args: string[]) =>
      asOwner(['deployments', 'wait', which, ...of, ...args]);
    expect((await wait('latest')).code).toBe(5);
    expect((await wait(Bun.randomUUIDv7())).code).toBe(5);
    const started = async (files: Files) =>
      (await deploy(app, files, '--execute', '--detach', '--json')).json<Deployed>();

    const first = await started(built('sleep 3'));
    const late = await wait(first.id, '--timeout', '1s');
    expect([late.code, late.stderr]).toEqual([10, expect.stringContaining('it continues')]);
    const live = await wait('latest', '--json');
    expect([live.code, live.json<Deployed>()]).toMatchObject([0, { id: first.id, state: 'live' }]);

    const second = await started(built('echo the last words; exit 3'));
    const followed = await asOwner(['deployments', 'logs', second.id, ...of, '--follow']);
    expect([followed.code, followed.stdout]).toEqual([9, expect.stringContaining('the last words')]);
    expect(followed.stderr).toContain('#2 failed');
    const lines = await asOwner(['deployments', 'logs', second.id, ...of, '--follow', '--json']);
    expect([lines.code, lines.stdout]).toEqual([9, expect.stringContaining('the last words')]);
    expect((await asOwner(['deployments', 'logs', second.id, ...of])).code).toBe(0);
    const failed = await wait('latest', '--json');
    expect([failed.code, failed.json<Deployed>().state]).toEqual([9, 'failed']);
    expect(failed.stderr).toContain('the last words');

    const third = await started(built('sleep 20'));
    await asOwner(['deployments', 'cancel', third.id, ...of, '--execute']);
    expect((await wait(third.id)).code).toBe(9);
    expect((await asOwner(['deployments', 'logs', third.id, ...of, '--follow'])).code).toBe(9);
    await started(staticSource());
    expect((await wait('latest')).code).toBe(0);
    const replaced = await wait(first.id, '--json');
    expect([replaced.code, replaced.json<Deployed>().state]).toEqual([0, 'superseded']);

    await setApp(world.tenant.server, app.id, { visibility: 'public' });
    const { id } = await started(staticSource());
    const review = await wait('latest', '--json');
    expect([review.code, review.json<Deployed>()]).toMatchObject([11, { id, state: 'built' }]);
    expect(review.stderr).toContain('review');

    const { base, admin } = world.tenant;
    const { items } = await done(admin.call('GET', `${base}/reviews`));
    const request = items.find(({ deployment_id }: { deployment_id: string }) => deployment_id === id);
    await done(admin.call('POST', `${base}/reviews/${request.id}/reject`, { reason: 'The logo is old' }));
    const rejected = await wait(id, '--json');
    expect([rejected.code, rejected.json<Deployed>()]).toMatchObject([
      9,
      { state: 'built', review: { id: request.id, status: 'rejected', reason: 'The logo is old' } },
    ]);
    expect(rejected.stderr).toContain('was rejected in its review: The logo is old.');
  });

  test('can be rolled back', async () => {
    const app = await newSite();
    const first = (await deploy(app, staticSource(), '--execute', '--json')).json<Deployed>();
    await deploy(app, staticSource(), '--execute');
    const ran = await asOwner(['deployments', 'rollback', first.id, '--app', app.id, '--execute', '--json']);
    expect([ran.code, ran.json<Deployed>()]).toMatchObject([0, { state: 'live', seq: 3 }]);
  });
});

describe('an app that runs', () => {
  const server = `
    const { createServer } = require('node:http');
    console.log('token ' + process.env.TOKEN + ' of ' + process.env.SVC_APP_ID);
    createServer((request, answer) => {
      console.log('requested ' + request.url);
      answer.end('ok');
    }).listen(process.env.PORT, process.env.HOST);
  `;
  const source = { 'package.json': '{"scripts":{"start":"node server.js"}}', 'server.js': server };

  test('writes a log that can be read and followed, and continues after a resume', async () => {
    const app = await newApp(world.tenant, { owner: world.people.O, coOwner: world.people.C }, {});
    const of = ['--app', app.id];
    await asOwner(['env', 'set', `TOKEN=${secret}`, ...of, '--execute']);
    const ran = await deploy(app, source, '--execute', '--json');
    expect([ran.code, ran.json<Deployed>().state, ran.stderr]).toEqual([0, 'live', expect.any(String)]);
    const log = await until('it has written', async () => {
      const read = await asOwner(['logs', ...of]);
      return read.stdout.includes('token') && read.stdout;
    });
    expect(log).toContain(`token *** of ${app.id}`);
    const lines = (await asOwner(['logs', ...of, '--tail', '1', '--json'])).json<
      { text: string; stream: string }[]
    >();
    expect([lines.length, lines[0]?.stream]).toEqual([1, expect.any(String)]);

    const following = Bun.spawn([join(root, 'svc'), 'logs', ...of, '--follow', '--json'], {
      env: { ...process.env, ...login() },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const reader = following.stdout.getReader();
    let followed = '';
    while (!followed.includes('token ***')) followed += new TextDecoder().decode((await reader.read()).value);
    for (const line of followed.trimEnd().split('\n')) expect(JSON.parse(line).text).toBeString();

    const suspended = await asOwner(['apps', 'suspend', app.id, '--execute', '--json']);
    expect(suspended.json()).toMatchObject({ runtime: 'suspended' });
    expect((await deploy(app, source, '--execute')).code).toBe(6);
    const resumed = await asOwner(['apps', 'resume', app.id, '--execute', '--json']);
    expect([resumed.code, resumed.json(), resumed.stderr]).toMatchObject([
      0,
      { runtime: 'running' },
      expect.stringContaining('deployment #2'),
    ]);
    following.kill('SIGINT');
    expect([await following.exited, await new Response(following.stderr).text()]).toEqual([130, '']);
  });
});

describe('svc env', () => {
  test('accepts values as arguments, from a file and from standard input, and never prints them', async () => {
    const app = await newSite();
    const of = ['--app', app.id];
    const preview = await asOwner(['env', 'set', `TOKEN=${secret}`, ...of]);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('TOKEN=…')]);
    const runs = [preview, await asOwner(['env', 'set', `TOKEN=${secret}`, ...of, '--execute', '--verbose'])];
    const file = join(folderOf({ '.env': `PORT=1\nexport FILED="${secret}"\n# no\n` }), '.env');
    runs.push(await asOwner(['env', 'set', '--from-file', file, ...of, '--execute']));
    expect(runs[2]?.stderr).toContain('PORT');
    runs.push(
      await asOwner(['env', 'set', '--stdin', 'PIPED', ...of, '--execute'], { stdin: `${secret}\n` }),
    );
    runs.push(await asOwner(['env', 'set', secret, ...of, '--execute']));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 2]);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(secret);
    const ran = await deploy(
      app,
      built('echo got $TOKEN; test "$TOKEN" = "$PIPED" && test "$TOKEN" = "$FILED" && echo all the same'),
      '--execute',
      '--json',
    );
    expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('got ***')]);
    expect(ran.stderr).toContain('all the same');
    const logs = await asOwner(['deployments', 'logs', ran.json<Deployed>().id, ...of]);
    const audit = await world.as.A('GET', `${world.tenant.base}/audit?per_page=200`);
    for (const text of [ran.stderr, logs.stdout, JSON.stringify(audit.body)])
      expect(text).not.toContain(secret);
    const listed = await asOwner(['env', 'list', ...of, '--json']);
    const { items } = listed.json<{ items: { name: string; given_by: string }[] }>();
    expect(items.filter(({ given_by }) => given_by === 'app').map(({ name }) => name)).toEqual([
      'FILED',
      'PIPED',
      'TOKEN',
    ]);
    expect((await asOwner(['env', 'unset', 'TOKEN', 'PIPED', ...of, '--execute'])).code).toBe(0);
    expect((await asOwner(['env', 'set', 'PORT=1', ...of])).code).toBe(2);
  });
});

function login(): Record<string, string> {
  const { server, slug } = world.tenant;
  return { SVC_BASE_URL: server.baseUrl, SVC_TOKEN: world.people.O.token, SVC_TENANT: slug };
}
