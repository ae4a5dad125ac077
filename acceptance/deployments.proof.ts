import { beforeAll, describe, expect, test } from 'bun:test';
import { type Svc, svcFor } from './support/commands.ts';
import { done, newTenant, type Tenant } from './support/people.ts';
import { Tally } from './support/rows.ts';
import { folderOf, type RunningServer, startEmbedded, startServer } from './support/server.ts';
import { askSite, newSite, type SiteGround, visitorCookie } from './support/sites.ts';
import { keepAsking, until } from './support/until.ts';

interface Deployment {
  id: string;
  seq: number;
  kind: string;
  state: string;
  digest: string;
  failure: { code: string; step: string; detail: string } | null;
}

let server: RunningServer;
let tenant: Tenant;
let svc: Svc;
beforeAll(async () => {
  server = await startEmbedded();
  tenant = await newTenant(server);
  svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
});

interface Running extends SiteGround {
  cookie: string;
  deploy(text: string, files?: Record<string, string>): Promise<Deployment & { code: number }>;
  ask(path?: string): Promise<{ status: number; text: string }>;
}

/** A private app with a process, and requests to it by its owner. */
async function newRunningApp(): Promise<Running> {
  const site = await newSite(server, tenant);
  const name = `app-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const app = await done(site.owner.call('POST', `${tenant.base}/apps`, { name, deploy_method: 'docker' }));
  const ground = { ...site, app, host: `${app.subdomain}.apps.localhost` };
  const cookie = await visitorCookie(ground, ground.owner);
  return {
    ...ground,
    cookie,
    ask: (path = '/') => askSite(ground, path, { headers: { cookie, accept: 'text/html' } }),
    async deploy(text, files = {}) {
      const folder = folderOf({ ...nodeApp(text), ...files });
      const ran = await svc(['deploy', '--app', app.slug, '--from-dir', folder, '--execute', '--json']);
      if (ran.stdout === '') throw new Error(`svc deploy ended with ${ran.code}: ${ran.stderr}`);
      return { ...ran.json<Deployment>(), code: ran.code };
    },
  };
}

const nodeApp = (text: string) => ({
  'package.json': JSON.stringify({ name: 'app', private: true, scripts: { start: 'node server.js' } }),
  'server.js': `
    const http = require('node:http');
    const answer = (request, response) => setTimeout(() => response.end(${JSON.stringify(text)}), 5);
    http.createServer(answer).listen(process.env.PORT, () => console.log('listening'));
    process.on('SIGTERM', () => process.exit(0));`,
});

const succeeds = async (args: string[]) => {
  const ran = await svc([...args, '--execute', '--json']);
  if (ran.code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${ran.code}: ${ran.stderr}`);
  return ran.json<Record<string, unknown>>();
};

describe('an app that runs', () => {
  test('is deployed from a folder, switched without a failed request, rolled back, suspended and resumed', async () => {
    const app = await newRunningApp();
    const first = await app.deploy('one');
    expect(first).toMatchObject({ code: 0, seq: 1, state: 'live', failure: null });
    expect(await app.ask()).toMatchObject({ status: 200, text: 'one' });

    const answers = new Tally();
    const ask = async () => {
      const { status, text } = await app.ask();
      answers.add(`${status} ${text}`);
    };
    const asking = keepAsking(ask, { clients: 3 });
    const second = await app.deploy('two');
    // The old release ends while requests continue.
    await until('the old instance is gone', async () => instancesOf(first.id) === 0, 40_000);
    await asking.stop();
    expect(second).toMatchObject({ code: 0, seq: 2, state: 'live' });
    const counts = answers.counts;
    expect(Object.keys(counts).sort()).toEqual(['200 one', '200 two']);
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(100);
    expect((await app.ask()).text).toBe('two');

    const back = await succeeds(['deployments', 'rollback', first.id, '--app', app.app.slug]);
    expect(back).toMatchObject({ kind: 'rollback', state: 'live', digest: first.digest });
    expect((await app.ask()).text).toBe('one');

    await succeeds(['apps', 'suspend', app.app.slug]);
    expect(await until('it is turned off', async () => (await app.ask()).status !== 200)).toBe(true);
    expect(await succeeds(['apps', 'resume', app.app.slug])).toMatchObject({ runtime: 'running' });
    expect(await app.ask()).toMatchObject({ status: 200, text: 'one' });
    const list = (await svc(['deployments', 'list', '--app', app.app.slug, '--json'])).json<{
      items: Deployment[];
    }>();
    expect(list.items.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
      'resume live',
      'rollback superseded',
      'deploy superseded',
      'deploy superseded',
    ]);
  });

  test('keeps its version when the next cannot be built or is not healthy', async () => {
    const app = await newRunningApp();
    await app.deploy('one');
    const broken = await app.deploy('two', { 'svc.yaml': 'build: exit 4\n' });
    expect(broken).toMatchObject({
      code: 9,
      state: 'failed',
      failure: { code: 'build_failed', step: 'build' },
    });
    const sick = await app.deploy('three', {
      'svc.yaml': 'health: { path: /, timeout: 1s }\n',
      'server.js': '',
    });
    expect(sick).toMatchObject({
      code: 9,
      state: 'failed',
      failure: { code: 'health_check_failed', step: 'health' },
    });
    expect(await app.ask()).toMatchObject({ status: 200, text: 'one' });
  });

  test('is found on the port where it listens, also after it has ended, and its log names the port', async () => {
    const app = await newRunningApp();
    const files = {
      'server.js': `require('node:http').createServer((request, response) => {
          if (request.url === '/end') process.exit(1);
          response.end(String(process.pid) + process.hrtime());
        }).listen(3000, '127.0.0.1');`,
    };
    expect(await app.deploy('', files)).toMatchObject({ code: 0, state: 'live' });
    const before = await app.ask();
    expect(before.status).toBe(200);
    const logs = await until('the log names it', async () => {
      const { stdout } = await svc(['logs', '--app', app.app.slug]);
      return stdout.includes('port 3000') && stdout;
    });
    expect(logs).toMatch(/The app listens on port 3000, not on PORT \(\d+\): requests go there\./);
    expect((await app.ask('/end')).status).toBeGreaterThanOrEqual(500);
    await until('it answers again', async () => (await app.ask()).status === 200);
  });

  test.each([
    ['no port', 'setInterval(() => {}, 1000);', /does not listen on any port/],
    [
      'an address of its own',
      `require('node:net').createServer().listen(3000, '127.0.0.9');`,
      /127\.0\.0\.9:3000/,
    ],
    [
      'a port without HTTP',
      `require('node:net').createServer((it) => it.end('no')).listen(process.env.PORT);`,
      /does not answer HTTP/,
    ],
  ])('fails with the reason if it listens on %s', async (_, code, reason) => {
    const app = await newRunningApp();
    const failed = await app.deploy('', {
      'svc.yaml': 'health: { path: /, timeout: 5s }\n',
      'server.js': code,
    });
    expect(failed).toMatchObject({ code: 9, failure: { code: 'health_check_failed', step: 'health' } });
    expect(failed.failure?.detail).toMatch(reason);
  });

  test('runs again after the server was killed', async () => {
    const app = await newRunningApp();
    await app.deploy('still here');
    server.signal('SIGKILL');
    await server.exited;
    server = await startServer({ dataDir: server.dataDir, port: server.port, env: server.env });
    const answer = await until(
      'it answers again',
      async () => {
        const answer = await app.ask();
        return answer.status === 200 && answer.text;
      },
      40_000,
    );
    expect(answer).toBe('still here');
  });
});

/** Processes of this deployment. */
function instancesOf(deploymentId: string): number {
  const { stdout } = Bun.spawnSync(
    ['sh', '-c', `grep -lz "^SVC_DEPLOYMENT_ID=${deploymentId}$" /proc/[0-9]*/environ`],
    {
      stderr: 'ignore',
    },
  );
  return stdout.toString().split('\n').filter(Boolean).length;
}
