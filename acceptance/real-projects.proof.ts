import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { uploadSource } from './support/apps.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { type Files, sharedServer } from './support/server.ts';
import { askSite, siteOf, visitorCookie } from './support/sites.ts';
import { newSemaphore, until } from './support/until.ts';

/**
 * Projects as other people write them: nothing in them is for this platform. They are deployed beside each other, because
 * most of a deployment is waiting.
 */
const tenant = useFixture(async () => newTenant(await sharedServer()));

/** One more than a server builds at once: who waits longer asks the server again and again. */
const slots = newSemaphore(3);

async function deploy(files: Files, settings: Record<string, unknown> = {}) {
  const owner = tenant.member;
  const { base, ...app } = await newApp(tenant, { owner }, settings);
  let id = '';
  const again = async (source: Files) => {
    using _ = await slots.take();
    const upload_id = await uploadSource({ base, owner }, source);
    ({ id } = await done(owner.call('POST', `${base}/deployments`, { upload_id })));
    return until(
      'the deployment has ended',
      async () => {
        const now = await done(owner.call('GET', `${base}/deployments/${id}`));
        return now.ended_at !== null && now;
      },
      120_000,
      1_000,
    );
  };
  const ended = await again(files);
  const log = async () => {
    const { items } = await done(owner.call('GET', `${base}/deployments/${id}/logs?limit=1000`));
    return items.map(({ text }: { text: string }) => text).join('\n');
  };
  const site = siteOf(tenant, app);
  const cookie = await visitorCookie(site, owner);
  const ask = (path = '/') => askSite(site, path, { headers: { cookie, accept: 'text/html' } });
  return { base, ended, again, log, ask };
}

/** Answers which Node.js runs it and which package manager built it. */
function versionsApp(packageJson: Record<string, unknown>, more: Files): Files {
  return {
    'package.json': JSON.stringify({
      name: 'versions',
      version: '1.0.0',
      scripts: { build: 'node build.js', start: 'node server.js' },
      ...packageJson,
    }),
    'build.js': `require('node:fs').writeFileSync('agent.txt', process.env.npm_config_user_agent);`,
    'server.js': `
      const agent = require('node:fs').readFileSync('agent.txt', 'utf8');
      require('node:http')
        .createServer((request, response) => response.end(process.version + ' ' + agent))
        .listen(process.env.PORT);`,
    ...more,
  };
}

/** In the build log. */
const reasons: Record<string, RegExp> = {
  'Node.js by .nvmrc': /^Node\.js 24\.\d+\.\d+: \.nvmrc says lts\/krypton\.$/m,
  'pnpm by packageManager': /^pnpm 9\.12\.0: packageManager in package\.json is pnpm@9\.12\.0\.$/m,
  'pnpm by its lock file': /^pnpm 8\.\d+\.\d+: pnpm-lock\.yaml has version 6\.0\.$/m,
};

/** Engines and the lock files of other package managers: see corpus-packages. */
describe.concurrent('the versions that a project requires are used', () => {
  test.each([
    ['Node.js by .nvmrc', versionsApp({}, { '.nvmrc': 'lts/krypton\n' }), /^v24\.\d+\.\d+ npm\//],
    [
      'pnpm by packageManager',
      versionsApp({ packageManager: 'pnpm@9.12.0' }, { 'pnpm-lock.yaml': pnpmLock('9.0') }),
      /^v\d+\.\d+\.\d+ pnpm\/9\.12\.0 /,
    ],
    ['pnpm by its lock file', versionsApp({}, { 'pnpm-lock.yaml': pnpmLock('6.0') }), / pnpm\/8\./],
  ])('%s, and the log names version and reason', async (name, files, expected) => {
    const app = await deploy(files);
    expect([app.ended.state, app.ended.state === 'live' ? '' : await app.log()]).toEqual(['live', '']);
    expect((await app.ask()).text).toMatch(expected);
    expect(await app.log()).toMatch(reasons[name]!);
  });

  test.each([
    ['npm', { 'package-lock.json': npmLock }],
    ['pnpm', { 'pnpm-lock.yaml': pnpmLock('9.0') }],
    ['Yarn 1', { 'yarn.lock': '# yarn lockfile v1\n\n\n' }],
    ['Bun', { 'bun.lock': bunLock }],
  ])('%s installs what its lock file says, and fails if package.json says otherwise', async (_, lock) => {
    const app = await deploy(versionsApp({ dependencies: { 'is-odd': '3.0.1' } }, lock));
    expect([app.ended.state, app.ended.failure?.detail]).toEqual([
      'failed',
      expect.stringContaining('The lock file does not match package.json'),
    ]);
  });

  test('they are shared by all apps, and no build or instance can change them', async () => {
    const attempt = `
      const { appendFileSync, realpathSync, writeFileSync } = require('node:fs');
      const { dirname, join } = require('node:path');
      const node = realpathSync(process.execPath);
      module.exports = () => [() => appendFileSync(node, 'x'), () => writeFileSync(join(dirname(node), 'npm'), 'x')]
        .map((change) => { try { change(); return 'changed'; } catch (error) { return error.code; } }).join(' ');`;
    const app = await deploy({
      'package.json': JSON.stringify({
        name: 'vandal',
        engines: { node: '22.x' },
        scripts: { build: 'node build.js', start: 'node server.js' },
      }),
      'attempt.js': attempt,
      'build.js': `require('node:fs').writeFileSync('built.txt', require('./attempt.js')());`,
      'server.js': `
        const built = require('node:fs').readFileSync('built.txt', 'utf8');
        require('node:http').createServer((_, r) =>
          r.end([process.version, built, require('./attempt.js')()].join(' '))).listen(process.env.PORT);`,
    });
    expect([app.ended.state, app.ended.state === 'live' ? '' : await app.log()]).toEqual(['live', '']);
    const refused = '(?:EROFS|EACCES|EPERM|ETXTBSY) (?:EROFS|EACCES|EPERM)';
    expect((await app.ask()).text).toMatch(new RegExp(`^v22\\.\\S+ ${refused} ${refused}$`));
  });

  test('a version that does not exist fails with the reason', async () => {
    const app = await deploy(versionsApp({ engines: { node: '999' } }, {}));
    expect(app.ended).toMatchObject({
      state: 'failed',
      failure: {
        code: 'build_failed',
        detail: 'No version of Node.js is 999: engines.node in package.json is 999.',
      },
    });
  });
});

describe.concurrent('a project that builds to files is served, whatever the method of the app', () => {
  test('plain pages', async () => {
    const app = await deploy({ 'index.html': '<h1>plain</h1>' }, { deploy_method: 'docker' });
    expect([app.ended.state, app.ended.method]).toEqual(['live', 'static']);
    expect((await app.ask()).text).toContain('plain');
  });

  test('a bundled single page, with every path leading to it', async () => {
    const app = await deploy({
      'package.json': JSON.stringify({
        name: 'page',
        scripts: { build: 'node build.js', start: 'vite preview' },
        devDependencies: { vite: '*' },
      }),
      'svc.yaml': 'build:\n  install: false\n',
      'build.js': `
        const { mkdirSync, writeFileSync } = require('node:fs');
        mkdirSync('dist');
        writeFileSync('dist/index.html', '<h1>bundled</h1>');`,
    });
    expect([app.ended.state, app.ended.method]).toEqual(['live', 'static']);
    const deep = await app.ask('/orders/7');
    expect([deep.status, deep.text]).toEqual([200, '<h1>bundled</h1>']);
  });

  test('with the redirects, rewrites and headers for other static hosts, and what is not applied is in the log', async () => {
    const app = await deploy({
      'public/index.html': 'home',
      'public/app/index.html': 'the app',
      'public/_redirects':
        '/old /new 302\n/app/* /app/index.html 200\n/api/* https://api.example.com/:splat 200\n',
      'public/_headers': '/*\n  X-Frame-Options: DENY\n',
      'vercel.json': JSON.stringify({ redirects: [{ source: '/blog/:path*', destination: '/news/:path*' }] }),
    });
    expect([app.ended.state, app.ended.method]).toEqual(['live', 'static']);
    const answers = await Promise.all(['/old', '/blog/a/b', '/app/orders/7', '/_redirects'].map(app.ask));
    expect(answers.map(({ status, headers, text }) => [status, headers.location ?? text])).toEqual([
      [302, '/new'],
      [307, '/news/a/b'],
      [200, 'the app'],
      [404, expect.anything()],
    ]);
    expect(answers[2]?.headers['x-frame-options']).toBe('DENY');
    expect(await app.log()).toContain(
      'Not applied: line 3 of _redirects: requests are not passed on to other hosts.',
    );
  });

  test('and a later version with a server runs it', async () => {
    const page = await deploy({ 'index.html': 'page' });
    expect((await page.ask()).text).toBe('page');
    const server = `require('node:http').createServer((_, r) => r.end('server')).listen(process.env.PORT)`;
    const next = await page.again({
      'index.html': 'page',
      'server.js': server,
      'svc.yaml': 'start: node server.js\n',
    });
    expect([next.state, next.method]).toEqual(['live', 'docker']);
    await until('the server answers', async () => (await page.ask()).text === 'server');
    const back = await page.again({ 'index.html': 'page again' });
    expect([back.state, back.method]).toEqual(['live', 'static']);
    await until('the page answers', async () => (await page.ask()).text === 'page again');
  });
});

describe.concurrent('install, build and start are separate steps', () => {
  test('a start command in svc.yaml leaves the others as they are detected', async () => {
    const app = await deploy({
      'package.json': JSON.stringify({ name: 'steps', dependencies: { 'is-number': '7.0.0' } }),
      'svc.yaml': 'start: node run.js\n',
      'run.js': `
        const isNumber = require('is-number');
        require('node:http').createServer((_, r) => r.end(String(isNumber(7)))).listen(process.env.PORT);`,
    });
    expect([app.ended.state, app.ended.state === 'live' ? '' : await app.log()]).toEqual(['live', '']);
    expect((await app.ask()).text).toBe('true');
  });

  test('each can be switched off', async () => {
    const app = await deploy({
      'package.json': JSON.stringify({
        name: 'steps',
        scripts: { build: 'exit 1' },
        dependencies: { 'no-such-package-7431': '1' },
      }),
      'svc.yaml': 'build:\n  install: false\n  command: false\nstart: node run.js\n',
      'run.js': `require('node:http').createServer((_, r) => r.end('runs')).listen(process.env.PORT);`,
    });
    expect([app.ended.state, (await app.ask()).text]).toEqual(['live', 'runs']);
  });
});

describe.concurrent('a workspace', () => {
  const answering = (text: string) =>
    `require('node:http').createServer((_, r) => r.end(${text})).listen(process.env.PORT);`;
  const workspace: Files = {
    'package.json': JSON.stringify({ name: 'all', private: true, workspaces: ['apps/*', 'packages/*'] }),
    'packages/greet/package.json': JSON.stringify({ name: 'greet', version: '1.0.0', main: 'index.js' }),
    'packages/greet/index.js': `module.exports = 'from another package';`,
    'apps/api/package.json': JSON.stringify({
      name: 'api',
      version: '1.0.0',
      scripts: { start: 'node server.js' },
      dependencies: { greet: '1.0.0' },
    }),
    'apps/api/server.js': answering(`require('greet')`),
  };

  test.each<[string, string, Files]>([
    ['npm', 'npm install', {}],
    ['Yarn 1', 'yarn install --frozen-lockfile', { 'yarn.lock': '# yarn lockfile v1\n\n\n' }],
  ])('of %s is installed at its root, and its only app runs', async (_, install, lock) => {
    const app = await deploy({ ...workspace, ...lock, 'apps/api/public/_redirects': '/old /new\n' });
    expect([app.ended.state, app.ended.state === 'live' ? '' : await app.log()]).toEqual(['live', '']);
    expect((await app.ask()).text).toBe('from another package');
    expect(await app.log()).toContain(`$ cd ../.. && ${install}`);
    expect(await app.log()).toContain(
      'Not applied: line 1 of _redirects: the server of the app answers all paths.',
    );
  });

  test('with several apps names them, and build.dir chooses one', async () => {
    const several = {
      ...workspace,
      'apps/web/package.json': JSON.stringify({ name: 'web', scripts: { start: 'node web.js' } }),
      'apps/web/web.js': answering(`'the other app'`),
    };
    const app = await deploy(several);
    expect([app.ended.state, app.ended.failure?.detail]).toEqual([
      'failed',
      'The repository has several apps: apps/api, apps/web. Choose one: build.dir in svc.yaml, such as `build: { dir: apps/api }`.',
    ]);
    const chosen = await app.again({ ...several, 'svc.yaml': 'build: { dir: apps/web }\n' });
    expect([chosen.state, (await app.ask()).text]).toEqual(['live', 'the other app']);
  });
});

test.concurrent('Python runs in a virtual environment of its own, with the command of the Procfile', async () => {
  const app = await deploy({
    'requirements.txt': '# nothing\n',
    Procfile: 'web: python serve_it.py\n',
    'serve_it.py': `
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.path.basename(sys.prefix).encode())
http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
`,
  });
  expect([app.ended.state, app.ended.state === 'live' ? '' : await app.log()]).toEqual(['live', '']);
  expect((await app.ask()).text).toBe('.venv');
});

test.concurrent('an app that fails shows its last lines and the change that helps', async () => {
  const app = await deploy({
    'package.json': JSON.stringify({ name: 'incomplete', scripts: { start: 'node server.js' } }),
    'server.js': `require('express')().listen(process.env.PORT);`,
  });
  expect([app.ended.state, app.ended.failure?.code, app.ended.failure?.detail]).toEqual([
    'failed',
    'health_check_failed',
    expect.stringMatching(
      /^The app ended with exit code 1\..* Add express to the dependencies in package\.json\.$/,
    ),
  ]);
  expect(await app.log()).toMatch(
    /The last lines of the app:[\s\S]*Cannot find module 'express'[\s\S]*Failed: /,
  );
});

test.concurrent('a framework gets the variables that its adapters read', async () => {
  const names = ['GCP_BUILDPACKS', 'ORIGIN', 'PROTOCOL_HEADER', 'HOST_HEADER', 'SVC_APP_URL'];
  const values = `JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name] ?? null))`;
  const app = await deploy({
    'package.json': JSON.stringify({
      name: 'kit',
      scripts: { build: 'node build.js', start: 'node server.js' },
      devDependencies: { '@sveltejs/kit': '2' },
    }),
    'svc.yaml': 'build:\n  install: false\n',
    'build.js': `require('node:fs').writeFileSync('built.json', ${values});`,
    'server.js': `
      const built = require('node:fs').readFileSync('built.json', 'utf8');
      require('node:http').createServer((_, r) => r.end(built + '\\n' + ${values})).listen(process.env.PORT);`,
  });
  const [built = '', run = ''] = (await app.ask()).text.split('\n');
  const [, origin, proto, host, url] = JSON.parse(run);
  expect([JSON.parse(built)[0], origin, proto, host]).toEqual([
    'svc',
    url.replace(/\/$/, ''),
    'x-forwarded-proto',
    'x-forwarded-host',
  ]);
});

test.concurrent('an app can write into its own folder, and what it wrote is gone with the instance', async () => {
  const app = await deploy({
    'svc.yaml': 'start: node run.js\n',
    'data/list.txt': 'first',
    'run.js': `
      const { appendFileSync, readFileSync } = require('node:fs');
      require('node:http').createServer((request, response) => {
        if (request.url === '/add') appendFileSync('data/list.txt', ' more');
        response.end(readFileSync('data/list.txt', 'utf8'));
      }).listen(process.env.PORT);`,
  });
  const texts = [await app.ask(), await app.ask('/add'), await app.ask()].map(({ text }) => text);
  expect([app.ended.state, ...texts]).toEqual(['live', 'first', 'first more', 'first more']);
  await done(tenant.member.call('POST', `${app.base}/suspend`));
  await done(tenant.member.call('POST', `${app.base}/resume`));
  await until('another instance runs', async () => (await app.ask()).text === 'first', 30_000);
});

function pnpmLock(version: string): string {
  return `lockfileVersion: '${version}'\n\nsettings:\n  autoInstallPeers: true\n  excludeLinksFromLockfile: false\n${
    version === '9.0' ? '\nimporters:\n\n  .: {}\n' : ''
  }`;
}

const npmLock = JSON.stringify({
  name: 'versions',
  version: '1.0.0',
  lockfileVersion: 3,
  requires: true,
  packages: { '': { name: 'versions', version: '1.0.0' } },
});

const bunLock = `{
  "lockfileVersion": 1,
  "workspaces": {
    "": {
      "name": "versions",
      "dependencies": {
        "is-number": "7.0.0",
      },
    },
  },
  "packages": {
    "is-number": ["is-number@7.0.0", "", {}, "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="],
  }
}
`;
