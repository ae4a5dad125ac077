import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chownSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../scripts/free-port.ts';
import { childrenOf, partsOf } from './suites/supervised-apps.ts';
import { run } from './support/commands.ts';
import { newRepository } from './support/git.ts';
import { done, newTenant } from './support/people.ts';
import { runningApp } from './support/running-app.ts';
import { postmasterOf, type RunningServer, root, startEmbedded, temporaryFolder } from './support/server.ts';
import { askSite, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

const userId = 64_322;

/**
 * The project in the home folder of the person who starts it, which nobody else can enter: $1 is the project, $2 the home
 * folder, $3 the user. Only the new mount namespace has the copy, the account and the open tun device.
 */
const inHome = `
  mkdir "$2/upper" "$2/work" "$2/svc" && chown "$3:$3" "$2/upper" &&
  mount -t overlay svc -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/svc" &&
  if [ "$3" -gt 0 ]; then
    mount -t tmpfs svc /media && cp /etc/passwd /media/passwd &&
    echo "fresh:x:$3:$3::$2:/bin/sh" >> /media/passwd && mount --bind /media/passwd /etc/passwd &&
    mknod -m 666 /media/tun c 10 200 && mount --bind /media/tun /dev/net/tun &&
    chown "$3:$3" "$2/svc/node_modules"
  fi && cd "$2/svc" || exit 1
  export HOME="$2"
  [ "$3" -gt 0 ] || exec npm start
  exec setpriv --reuid "$3" --regid "$3" --clear-groups -- npm start`;

interface Target {
  host: string;
  port: number;
  headers: Record<string, string>;
}

/** Sends a request to each of the targets, and returns those that answered. */
const send = `const send = async (targets) => (await Promise.all(targets.map((target) => new Promise((resolve) => {
  const sent = require('node:http').get({ ...target, path: '/forged', timeout: 3000 }, (answer) => {
    answer.resume().on('end', () => resolve([target.host]));
  });
  sent.on('timeout', () => sent.destroy()).on('error', () => resolve([]));
})))).flat();`;

const template = {
  'package.json': JSON.stringify({
    name: 'hello',
    private: true,
    scripts: { build: 'node build.js', start: 'node server.js' },
  }),
  'build.js': "require('node:fs').writeFileSync('built.txt', 'built here');",
  'server.js': `${send}
    const text = require('node:fs').readFileSync('built.txt', 'utf8');
    require('node:http').createServer(async ({ url }, response) => {
      const targets = new URL(url, 'http://here').searchParams.get('targets');
      response.end(targets ? JSON.stringify(await send(JSON.parse(targets))) : 'Hello, ' + text);
    }).listen(process.env.PORT);`,
};

describe.skipIf(process.getuid?.() !== 0).each([
  ['root', 0],
  ['a fresh ordinary user', userId],
] as const)('npm start by %s in a home folder with mode 0700', (_, uid) => {
  let server: RunningServer;
  const home = join(temporaryFolder(), 'home');
  beforeAll(async () => {
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, uid, uid);
    const command = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', inHome, 'sh'];
    server = await startEmbedded({
      dataDir: join(home, 'data'),
      env: { SVC_TOOLCHAIN_DIR: '', SVC_TRUSTED_PROXIES: 'loopback' },
      command: [...command, root, home, String(uid)],
    });
  });
  afterAll(() => server?.stop());

  let app: ReturnType<typeof bootstrap> | undefined;
  async function bootstrap() {
    const tenant = await newTenant(server);
    const { admin: author, member: owner, base } = tenant;
    const repo = await newRepository(tenant, author, template);
    const { id } = await done(author.call('POST', `${base}/templates`, { repo, name: 'Hello' }));
    const started = await done(
      owner.call('POST', `${base}/bootstraps`, { template: id, slug: 'hello-home' }),
    );
    const bootstrap = await until(
      'the bootstrap ends',
      async () => {
        const { body } = await owner.call('GET', `${base}/bootstraps/${started.id}`);
        return body.ended_at === null ? null : body;
      },
      120_000,
    );
    expect([bootstrap.state, bootstrap.failure]).toEqual(['done', null]);
    const { url, app_id } = bootstrap;
    const site = { server, host: new URL(url).hostname, app: { id: app_id }, tenant, owner } as never;
    const cookie = await visitorCookie(site, owner);
    return { tenant, ask: (path: string) => askSite(site, path, { headers: { cookie } }) };
  }
  const bootstrapped = () => {
    app ??= bootstrap();
    return app;
  };

  test('bootstraps an app from a template: it is built, runs in a sandbox and answers', async () => {
    const { status, text } = await (await bootstrapped()).ask('/');
    expect([status, text]).toEqual([200, 'Hello, built here']);
  });

  test('a program of this machine can pretend to be the proxy or the platform, but no app can', async () => {
    const { tenant, ask } = await bootstrapped();
    const victim = await runningApp({ within: tenant });
    const cookie = await visitorCookie(victim.site, victim.site.owner);
    const address = '203.0.113.66';
    const headers = {
      host: victim.authority,
      cookie,
      'x-forwarded-for': address,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'forged.example',
      forwarded: `for=${address};proto=https;host=forged.example`,
      'x-svc-user': 'forged',
    };
    const own = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map((it) => it.address));
    const hosts = [...new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1', 'localhost', '198.18.0.1', ...own])];
    const at = (port: number): Target[] => hosts.map((host) => ({ host, port, headers }));
    const fromMachine = async (targets: Target[]) => {
      const program = `${send} send(${JSON.stringify(targets)}).then((all) => console.log(JSON.stringify(all)));`;
      return (await run(['node', '-e', program])).json<string[]>();
    };
    const seen = () => victim.seen.map(({ headers: got }) => [got['x-forwarded-for'], got['x-svc-user']]);

    expect(await fromMachine(at(server.port))).toContain('127.0.0.1');
    // The platform takes the address from the headers, but not the visitor.
    const [forwarded, user] = seen().at(-1) ?? [];
    expect([forwarded, user === 'forged', user?.length]).toEqual([address, false, expect.any(Number)]);
    expect(await fromMachine(at(victim.port))).toContain('127.0.0.1');
    expect(seen().at(-1)).toEqual([address, 'forged']);

    const before = victim.seen.length;
    // Where something outside of this machine answers for every port.
    const strangers = await fromMachine(at(freePort()));
    expect(strangers).not.toContain('127.0.0.1');
    // One at a time: a machine with many containers has more addresses than a URL holds.
    const targets = [...at(server.port), ...at(victim.port)].filter(({ host }) => !strangers.includes(host));
    const answers = await Promise.all(
      targets.map((target) => ask(`/?targets=${encodeURIComponent(JSON.stringify([target]))}`)),
    );
    expect(answers.filter(({ status, text }) => status !== 200 || text !== '[]')).toEqual([]);
    expect(victim.seen.length).toBe(before);
  });

  if (uid === 0)
    test('the server and PostgreSQL run as a user without rights, and the agent alone as root', () => {
      // The child of npm.
      const [supervisor = 0] = childrenOf(server, 'start');
      const { server: worker, agent } = partsOf({ ...server, pid: supervisor });
      const postgres = postmasterOf(server);
      for (const pid of [worker, postgres]) {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
          expect(status).toMatch(new RegExp(`^${name}:\\s*0+$`, 'm'));
        expect(status).toMatch(/^NoNewPrivs:\s*1$/m);
      }
      const userOf = (pid: number) => statSync(`/proc/${pid}`).uid;
      expect([userOf(worker) === 0, userOf(postgres) === 0, userOf(agent)]).toEqual([false, false, 0]);
      expect(server.output()).not.toContain('the server runs as root');
      const [git = 0] = childrenOf({ ...server, pid: supervisor }, 'git');
      expect([0, userOf(worker)]).not.toContain(userOf(git));
    });

  test('svc login --local and svc-admin doctor work for the person who started it', async () => {
    const inside = ['nsenter', `--mount=/proc/${server.pid}/ns/mnt`, 'setpriv', '--reuid', String(uid)];
    const asStarter = (program: string, ...words: string[]) =>
      run(
        [
          ...inside,
          '--regid',
          String(uid),
          '--clear-groups',
          'sh',
          '-c',
          'cd "$0" && exec "$@"',
          join(home, 'svc'),
          program,
          ...words,
        ],
        { env: { ...server.env, HOME: home }, cwd: '/' },
      );
    expect(await asStarter('./svc', 'login', '--local')).toMatchObject({ code: 0 });
    const whoami = await asStarter('./svc', 'whoami', '--json');
    expect(whoami.json()).toMatchObject({ user: { email: 'admin@demo.localhost' } });
    const doctor = await asStarter('./svc-admin', 'doctor', '--json');
    const { checks } = doctor.json<{ checks: { name: string; status: string; detail: string }[] }>();
    expect(checks.filter(({ status }) => status === 'problem')).toEqual([]);
    const user = uid === 0 ? /^The server runs as user [1-9]/ : /^The server has the rights of the user/;
    expect(checks.find(({ name }) => name === 'server user')?.detail).toMatch(user);
    expect(checks.find(({ name }) => name === 'runtime')).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('Each app runs in its own sandbox'),
    });
  });
});
