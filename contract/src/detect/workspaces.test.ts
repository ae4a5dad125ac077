import { describe, expect, test } from 'bun:test';
import { detectFolder, detectSource } from './detect.ts';
import type { SourceFiles } from './source-files.ts';
import { requiredTools } from './tools.ts';
import { below, workspaceFolders } from './workspaces.ts';

const filesOf = (files: Record<string, unknown>): SourceFiles => ({
  paths: new Set(Object.keys(files)),
  read: async (path) => {
    const file = files[path] ?? null;
    return file === null || typeof file === 'string' ? file : JSON.stringify(file);
  },
});

const monorepo = {
  'package.json': {
    workspaces: ['apps/*', 'packages/*'],
    packageManager: 'pnpm@9.12.0',
    scripts: { build: 'x' },
  },
  'pnpm-lock.yaml': "lockfileVersion: '9.0'\n",
  '.nvmrc': '22\n',
  'apps/web/package.json': { scripts: { build: 'vite build' }, devDependencies: { vite: '*' } },
  'apps/api/package.json': { scripts: { start: 'node server.js' }, engines: { node: '24' } },
  'packages/ui/package.json': { main: 'index.js' },
  'packages/ui/index.js': '',
  'docs/package.json': { scripts: { start: 'x' } },
};

describe('a workspace', () => {
  test.each<[string, Record<string, unknown>]>([
    ['npm, Yarn or Bun', { 'package.json': { workspaces: ['apps/*', 'libs/**', '!apps/old'] } }],
    ['Yarn 1', { 'package.json': { workspaces: { packages: ['apps/*', 'libs/**', '!apps/old'] } } }],
    [
      'pnpm',
      {
        'pnpm-workspace.yaml': `# apps\npackages:\n  - 'apps/*'  # all of them\n\n  - "libs/**"\n  - '!apps/old'\ncatalog:\n  - x/*\n`,
      },
    ],
  ])('of %s lists its packages', async (_, root) => {
    const paths = ['apps/a', 'apps/old', 'apps/a/deep', 'libs/b/c', 'x/y', 'other'].map(
      (it) => `${it}/package.json`,
    );
    const files = filesOf({ ...root, ...Object.fromEntries(paths.map((path) => [path, {}])) });
    expect(await workspaceFolders(files)).toEqual(['apps/a', 'libs/b/c']);
  });

  test('has its apps as options at the root, and no libraries', async () => {
    const { options } = await detectSource(filesOf(monorepo));
    expect(
      options.map(({ dir, deploy_method, output_dir, start_command }) => [
        dir,
        deploy_method,
        output_dir,
        start_command,
      ]),
    ).toEqual([
      ['apps/api', 'docker', null, 'pnpm run start'],
      ['apps/web', 'static', 'dist', null],
      [null, 'docker', null, null],
    ]);
  });

  test('whose root is an app itself has that first', async () => {
    const root = { ...monorepo, 'package.json': { workspaces: ['apps/*'], scripts: { start: 'node x' } } };
    const { options } = await detectSource(filesOf(root));
    expect(options.map(({ dir }) => dir)).toEqual([null, 'apps/api', 'apps/web']);
  });

  test('is installed at its root, with the tools of its root', async () => {
    const root = filesOf(monorepo);
    const { detected, files } = await detectFolder(root, 'apps/api', below(root, 'apps/api'));
    expect(detected.options[0]).toMatchObject({
      dir: 'apps/api',
      install_command: 'cd ../.. && pnpm install --frozen-lockfile',
      start_command: 'pnpm run start',
    });
    expect((await requiredTools(files)).map(({ name, range }) => `${name} ${range}`)).toEqual([
      'node 24',
      'pnpm 9.12.0',
    ]);
    const web = await detectFolder(root, 'apps/web', below(root, 'apps/web'));
    expect((await requiredTools(web.files))[0]?.range).toBe('22');
  });

  test('a folder that is none of its packages is a project of its own', async () => {
    const root = filesOf(monorepo);
    const { detected } = await detectFolder(root, 'docs', below(root, 'docs'));
    expect(detected.options[0]).toMatchObject({ dir: null, install_command: 'npm install' });
  });
});

describe('a Procfile', () => {
  test('names what runs, whatever else is found', async () => {
    const files = {
      'package.json': { scripts: { start: 'a' } },
      Procfile: '# all\nworker: b\nweb:  node c.js --x\n',
    };
    const { options, evidence } = await detectSource(filesOf(files));
    expect(options[0]).toMatchObject({ start_command: 'node c.js --x', install_command: 'npm install' });
    expect(evidence[0]).toEqual({ file: 'Procfile', says: 'names the web process' });
  });

  test('names the release command, with and without a web process', async () => {
    const detected = async (Procfile: string) =>
      detectSource(filesOf({ 'package.json': { scripts: { start: 'a' } }, Procfile }));
    const { options, evidence } = await detected('release: ./migrate --all\n');
    expect(options[0]).toMatchObject({ start_command: 'npm run start', release_command: './migrate --all' });
    expect(evidence[0]).toEqual({ file: 'Procfile', says: 'names the release command' });
    expect((await detected('web: b\nrelease: c')).options[0]).toMatchObject({
      start_command: 'b',
      release_command: 'c',
    });
  });

  test('alone makes a program of a folder', async () => {
    expect((await detectSource(filesOf({ Procfile: 'web: ./run' }))).options[0]).toMatchObject({
      deploy_method: 'docker',
      start_command: './run',
    });
    expect(
      (await detectSource(filesOf({ Procfile: 'worker: ./run', 'index.html': '' }))).options[0],
    ).toMatchObject({
      deploy_method: 'static',
    });
  });
});

describe('a Python project', () => {
  const python = async (files: Record<string, string>) => (await detectSource(filesOf(files))).options[0];

  test('is installed in a virtual environment', async () => {
    expect((await python({ 'requirements.txt': 'flask', 'app.py': '' }))?.install_command).toBe(
      'python3 -m venv .venv && pip install -r requirements.txt',
    );
    expect((await python({ 'pyproject.toml': '', 'app.py': '' }))?.install_command).toBe(
      'python3 -m venv .venv && pip install .',
    );
  });

  test('of Django migrates its database once before the new version if that is on a server, else at each start', async () => {
    const django = (requirements: string, more = {}) =>
      python({ 'requirements.txt': requirements, 'manage.py': '', 'shop/wsgi.py': '', ...more });
    const migrate = 'python manage.py migrate --noinput';
    const start = 'gunicorn shop.wsgi --bind 0.0.0.0:$PORT';
    for (const driver of ['psycopg[binary]>=3', 'psycopg2-binary==2.9', 'mysqlclient'])
      expect(await django(`Django\ngunicorn\n${driver}\n`)).toMatchObject({
        release_command: migrate,
        start_command: start,
      });
    // Its database is a file, of which every instance has its own.
    expect(await django('Django\ngunicorn\n')).toMatchObject({
      release_command: null,
      start_command: `${migrate} && ${start}`,
    });
    expect(await django('Django\npsycopg', { Procfile: 'web: x\nrelease: y' })).toMatchObject({
      release_command: 'y',
      start_command: 'x',
    });
    // The image starts as its author wants; the commands are for a machine without an engine.
    expect(await django('Django\ngunicorn\npsycopg', { Dockerfile: 'FROM x' })).toMatchObject({
      release_command: null,
      start_command: `${migrate} && ${start}`,
    });
    expect(await python({ 'requirements.txt': 'flask\npsycopg', 'app.py': '' })).toMatchObject({
      release_command: null,
    });
  });

  test.each<[string, Record<string, string>]>([
    [
      'python manage.py migrate --noinput && gunicorn shop.wsgi --bind 0.0.0.0:$PORT',
      { 'requirements.txt': 'Django\ngunicorn', 'manage.py': '', 'shop/wsgi.py': '' },
    ],
    [
      'gunicorn shop.wsgi --bind 0.0.0.0:$PORT',
      { 'requirements.txt': 'Django\ngunicorn', 'shop/wsgi.py': '' },
    ],
    [
      'python manage.py migrate --noinput && python manage.py runserver 0.0.0.0:$PORT --noreload',
      { 'requirements.txt': 'Django', 'manage.py': '' },
    ],
    ['gunicorn app:app --bind 0.0.0.0:$PORT', { 'requirements.txt': 'flask\ngunicorn==23', 'app.py': '' }],
    [
      'python -m uvicorn main:app --host 0.0.0.0 --port $PORT',
      { 'requirements.txt': 'fastapi\nuvicorn', 'main.py': '' },
    ],
    ['python server.py', { 'requirements.txt': '', 'server.py': '' }],
    ['gunicorn x:y', { 'requirements.txt': 'flask', 'app.py': '', Procfile: 'web: gunicorn x:y' }],
  ])('starts with %s', async (start, files) => {
    expect((await python(files))?.start_command).toBe(start);
  });
});
