import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chownSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, partsOf } from './suites/supervised-apps.ts';
import { run } from './support/commands.ts';
import { newRepository } from './support/git.ts';
import { done, newTenant } from './support/people.ts';
import { type RunningServer, root, startEmbedded, temporaryFolder } from './support/server.ts';
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

const template = {
  'package.json': JSON.stringify({
    name: 'hello',
    private: true,
    scripts: { build: 'node build.js', start: 'node server.js' },
  }),
  'build.js': "require('node:fs').writeFileSync('built.txt', 'built here');",
  'server.js': `const text = require('node:fs').readFileSync('built.txt', 'utf8');
    require('node:http').createServer((_, response) => response.end('Hello, ' + text)).listen(process.env.PORT);`,
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
      env: { SVC_TOOLCHAIN_DIR: '' },
      command: [...command, root, home, String(uid)],
    });
  });
  afterAll(() => server?.stop());

  test('bootstraps an app from a template: it is built, runs in a sandbox and answers', async () => {
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
    const { status, text } = await askSite(site, '/', { headers: { cookie } });
    expect([status, text]).toEqual([200, 'Hello, built here']);
  });

  if (uid === 0)
    test('the server runs as a user without rights, and the agent alone as root', () => {
      // npm, Node.js and Bun run the same program, each as the child of the other.
      const [launcher = 0] = childrenOf(server, 'start');
      const [supervisor = 0] = childrenOf({ ...server, pid: launcher }, 'start');
      const { server: worker, agent } = partsOf({ ...server, pid: supervisor });
      const status = readFileSync(`/proc/${worker}/status`, 'utf8');
      for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        expect(status).toMatch(new RegExp(`^${name}:\\s*0+$`, 'm'));
      expect(status).toMatch(/^NoNewPrivs:\s*1$/m);
      expect([statSync(`/proc/${worker}`).uid === 0, statSync(`/proc/${agent}`).uid]).toEqual([false, 0]);
      expect(server.output()).not.toContain('the server runs as root');
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
