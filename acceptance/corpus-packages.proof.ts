import { expect } from 'bun:test';
import { corpus, json, type Opened, waitForText, withLockFile } from './support/corpus.ts';
import type { Files } from './support/server.ts';

/** Says which Node.js runs it and which package manager built it, on a page with a style. */
function versionsApp(more: Record<string, unknown> = {}): Files {
  return {
    'package.json': json({
      name: 'versions',
      version: '1.0.0',
      type: 'module',
      scripts: { build: 'node build.js', start: 'node server.js' },
      dependencies: { express: '^5.0.0' },
      ...more,
    }),
    'build.js': `import { writeFileSync } from 'node:fs';
writeFileSync('agent.txt', process.env.npm_config_user_agent);
`,
    'public/style.css': 'body { font-family: sans-serif }\n',
    'server.js': `import { readFileSync } from 'node:fs';
import express from 'express';

const app = express();
const agent = readFileSync('agent.txt', 'utf8');
const text = process.version + ' ' + agent;
app.use(express.static('public'));
app.get('/', (request, response) => response.send('<link rel="stylesheet" href="/style.css"><p>' + text + '</p>'));
app.get('/items/:id', (request, response) => response.send('Item ' + request.params.id));
app.listen(process.env.PORT || 3000);
`,
  };
}

/** A site and a server that share a package. */
const workspace: Files = {
  'package.json': json({ name: 'all', private: true, scripts: { build: 'pnpm -r build' } }),
  'pnpm-workspace.yaml': 'packages:\n  - "apps/*"\n  - "packages/*"\n',
  'packages/greet/package.json': json({
    name: '@all/greet',
    version: '1.0.0',
    type: 'module',
    main: 'index.js',
  }),
  'packages/greet/index.js': `export const greeting = 'Hello from a shared package';\n`,
  'apps/web/package.json': json({
    name: '@all/web',
    version: '1.0.0',
    type: 'module',
    scripts: { build: 'node --print process.env.npm_config_user_agent >agent.txt', start: 'node server.js' },
    dependencies: { '@all/greet': 'workspace:*', express: '^5.0.0' },
  }),
  'apps/web/public/style.css': 'body { font-family: sans-serif }\n',
  'apps/web/server.js': `import { readFileSync } from 'node:fs';
import { greeting } from '@all/greet';
import express from 'express';

const app = express();
const text = greeting + ', ' + readFileSync('agent.txt', 'utf8');
app.use(express.static('public'));
app.get('/', (request, response) => response.send('<link rel="stylesheet" href="/style.css"><p>' + text + '</p>'));
app.get('/items/:id', (request, response) => response.send('Item ' + request.params.id));
app.listen(process.env.PORT || 3000);
`,
};

const deep = ['/items/7', 'Item 7'] as const;

/** The version of Node.js is in the text of the first page, too. */
const shows =
  (version: string) =>
  async ({ page, url }: Opened): Promise<void> => {
    await page.goto(url);
    await waitForText(page, version);
  };

corpus('the tools that a project names', [
  {
    name: 'a lock file of npm',
    source: withLockFile('npm install --package-lock-only', versionsApp()),
    home: ' npm/',
    deep,
    async check({ svc, app }) {
      const built = await svc(['deployments', 'logs', 'latest', '--app', app]);
      expect(built.stdout).toMatch(/^.*\$ npm ci$/m);
    },
  },
  {
    name: 'a lock file of Yarn 1',
    source: withLockFile('yarn@1.22.22 install --ignore-scripts --no-progress', versionsApp()),
    home: ' yarn/1.',
    deep,
  },
  {
    name: 'a lock file of Yarn 4, and engines >=24 <25',
    source: withLockFile(
      '--package=@yarnpkg/cli-dist@4 yarn install --mode=update-lockfile',
      versionsApp({ engines: { node: '>=24 <25' } }),
    ),
    home: ' yarn/4.',
    deep,
    check: shows('v24.'),
  },
  {
    name: 'a lock file of Bun, and engines 22',
    source: withLockFile('bun@1 install --lockfile-only', versionsApp({ engines: { node: '22.x' } })),
    home: ' bun/1.',
    deep,
    check: shows('v22.'),
  },
  {
    name: 'a pnpm workspace with one app',
    source: withLockFile('pnpm@10 install --lockfile-only', workspace),
    home: 'Hello from a shared package, pnpm/10.',
    deep,
  },
]);
