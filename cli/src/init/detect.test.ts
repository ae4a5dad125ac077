import { describe, expect, test } from 'bun:test';
import { Manifest } from '@svc/contract/manifest.shapes.ts';
import fc from 'fast-check';
import { detect, type Folder } from './detect.ts';
import type { RequestedNames } from './names.ts';

interface Shape {
  /** Empty files. */
  entries?: string[];
  texts?: Record<string, string>;
  package?: Record<string, unknown>;
  /** Folders with a page. */
  pages?: string[];
  origin?: string;
  folder?: string;
}

function folderWith({ entries = [], texts = {}, pages = [], origin, ...shape }: Shape): Folder {
  const files: Record<string, string> = {
    ...Object.fromEntries(
      [...entries, ...pages.map((name) => `${name}/index.html`)].map((name) => [name, '']),
    ),
    ...texts,
  };
  if (shape.package) files['package.json'] = JSON.stringify(shape.package);
  const paths = new Set(Object.keys(files));
  return {
    files: { paths, read: async (path) => files[path] ?? null },
    name: shape.folder ?? 'folder',
    origin: origin ?? null,
  };
}

/** The manifest without name and slug. */
async function serving(shape: Shape): Promise<Manifest> {
  const { manifest } = await detect(folderWith(shape), {});
  const { name: _, app: __, ...rest } = manifest;
  return rest;
}

const names = async (shape: Shape, given: RequestedNames = {}) => {
  const { manifest } = await detect(folderWith(shape), given);
  return [manifest.name, manifest.app?.slug];
};

describe('the name', () => {
  test('is that of the flag, then of package.json, the remote, the folder', async () => {
    const origin = 'git@host:acme/shop-repo.git';
    const all = { package: { name: '@acme/web-shop' }, origin, folder: 'Shop Folder' };
    expect(await names(all, { name: 'My Shop' })).toEqual(['My Shop', 'my-shop']);
    expect(await names(all, { name: 'My Shop', slug: 'other' })).toEqual(['My Shop', 'other']);
    expect(await names(all)).toEqual(['web-shop', 'web-shop']);
    expect(await names({ origin, folder: 'x' })).toEqual(['shop-repo', 'shop-repo']);
    expect(await names({ folder: 'Shop Folder' })).toEqual(['Shop Folder', 'shop-folder']);
    expect(await names({ folder: '' })).toEqual(['app', 'app']);
  });

  test.each([
    ['https://user:secret@host/acme/shop.git', 'shop'],
    ['https://host/acme/shop/', 'shop'],
    ['ssh://git@host:22/acme/shop', 'shop'],
    ['C:\\repos\\shop.git', 'shop'],
  ])('of the remote %s is %s', async (origin, name) => {
    expect((await names({ origin }))[0]).toBe(name);
  });

  test('that gives no slug uses that of the folder, or none', async () => {
    expect(await names({ folder: 'shop' }, { name: '日本' })).toEqual(['日本', 'shop']);
    expect(await names({ folder: '日本' })).toEqual(['日本', undefined]);
    expect(await names({ folder: 'shop' }, { name: 'Search' })).toEqual(['Search', 'shop']);
  });

  test('in package.json that is not a name is ignored', async () => {
    for (const name of ['', '  ', '\u{e0000}', 'a\u202eb', 'x'.repeat(101), 'a\nb', 3, null]) {
      expect((await names({ package: { name }, folder: 'shop' }))[0]).toBe('shop');
    }
  });
});

describe('a Dockerfile or a compose file', () => {
  test('decides, whatever else is there', async () => {
    const astro = { scripts: { build: 'astro build' }, dependencies: { astro: '5' } };
    expect(await serving({ texts: { Dockerfile: 'FROM node' }, package: astro })).toEqual({
      deploy: { method: 'docker' },
    });
    expect(await serving({ entries: ['compose.yaml', 'Dockerfile'] })).toEqual({
      deploy: { method: 'docker' },
    });
    expect(await serving({ texts: { Containerfile: 'FROM node' } })).toEqual({
      deploy: { method: 'docker', dockerfile: 'Containerfile' },
    });
    for (const file of ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml']) {
      expect(await serving({ entries: [file, 'index.html'], package: astro })).toEqual({
        deploy: { method: 'compose', compose_file: file },
      });
    }
  });

  test.each([
    ['HEALTHCHECK CMD curl -f http://localhost:3000/healthz || exit 1', '/healthz'],
    ['HEALTHCHECK --interval=5s \\\n  CMD ["wget", "-q", "http://127.0.0.1:80/up?x=1"]', '/up?x=1'],
    ['HEALTHCHECK CMD curl http://localhost:8080', '/'],
    ['HEALTHCHECK NONE', undefined],
    ['HEALTHCHECK CMD pg_isready', undefined],
    ['# HEALTHCHECK CMD curl http://localhost/x', undefined],
  ])('%s gives the health path %s', async (line, path) => {
    expect((await serving({ texts: { Dockerfile: `FROM node\n${line}\n` } })).health).toBe(path as string);
  });
});

describe('a project with a package.json', () => {
  const build = { build: 'x build' };
  const files = (dir: string, command = 'npm run build') => ({
    deploy: { method: 'static' as const },
    build: command,
    static: { dir },
  });

  test.each<[string, Shape, Manifest]>([
    ['astro', { package: { scripts: build, dependencies: { astro: '5' } } }, files('dist')],
    [
      'astro with a folder of its own',
      {
        package: { scripts: build, dependencies: { astro: '5' } },
        texts: { 'astro.config.mjs': "export default { outDir: './www/' }" },
      },
      files('www'),
    ],
    ['vite', { package: { scripts: build, devDependencies: { vite: '7', react: '19' } } }, files('dist')],
    [
      'vite with a folder outside',
      {
        package: { scripts: build, devDependencies: { vite: '7' } },
        texts: { 'vite.config.ts': "build: { outDir: '../public' }" },
      },
      files('dist'),
    ],
    [
      'react-scripts',
      { package: { scripts: build, dependencies: { 'react-scripts': '5' } } },
      files('build'),
    ],
    ['gatsby', { package: { scripts: build, dependencies: { gatsby: '5', react: '19' } } }, files('public')],
    [
      'docusaurus',
      { package: { scripts: build, dependencies: { '@docusaurus/core': '3' } } },
      files('build'),
    ],
    ['eleventy', { package: { scripts: build, devDependencies: { '@11ty/eleventy': '3' } } }, files('_site')],
    [
      'vitepress',
      {
        package: {
          scripts: { build: 'vitepress build docs' },
          devDependencies: { vitepress: '1', vite: '7' },
        },
      },
      files('docs/.vitepress/dist'),
    ],
    [
      'sveltekit as files',
      {
        package: {
          scripts: build,
          devDependencies: { '@sveltejs/kit': '2', '@sveltejs/adapter-static': '3', vite: '7' },
        },
      },
      files('build'),
    ],
    [
      'next as files',
      {
        package: { scripts: { ...build, start: 'next start' }, dependencies: { next: '16' } },
        texts: { 'next.config.ts': "const config = { output: 'export' }" },
      },
      files('out'),
    ],
    [
      'pnpm',
      { package: { scripts: build, devDependencies: { vite: '7' } }, entries: ['pnpm-lock.yaml'] },
      files('dist', 'pnpm run build'),
    ],
    [
      'yarn',
      { package: { scripts: build, devDependencies: { vite: '7' } }, entries: ['yarn.lock'] },
      files('dist', 'yarn run build'),
    ],
    [
      'bun',
      { package: { scripts: build, devDependencies: { vite: '7' } }, entries: ['bun.lock'] },
      files('dist', 'bun run build'),
    ],
    [
      'a package manager that is declared',
      {
        package: { scripts: build, devDependencies: { vite: '7' }, packageManager: 'pnpm@9.1.0' },
        entries: ['yarn.lock'],
      },
      files('dist', 'pnpm run build'),
    ],
    [
      'a build of its own',
      { package: { scripts: build }, pages: ['dist'], entries: ['index.html'] },
      files('dist'),
    ],
  ])('%s is served as files', async (_, shape, expected) => {
    expect(await serving(shape)).toEqual(expected);
  });

  const runs = (start: string | undefined, command?: string) => ({
    deploy: { method: 'docker' as const },
    ...(command !== undefined && { build: command }),
    ...(start !== undefined && { start }),
    health: '/',
  });

  test.each<[string, Shape, Manifest]>([
    [
      'next',
      { package: { scripts: { ...build, start: 'next start' }, dependencies: { next: '16' } } },
      runs('npm run start', 'npm run build'),
    ],
    [
      'nuxt',
      { package: { scripts: build, dependencies: { nuxt: '4' } } },
      runs('node .output/server/index.mjs', 'npm run build'),
    ],
    [
      'astro with a server',
      { package: { scripts: build, dependencies: { astro: '5', '@astrojs/node': '9' } } },
      runs('node dist/server/entry.mjs', 'npm run build'),
    ],
    [
      'sveltekit',
      { package: { scripts: build, devDependencies: { '@sveltejs/kit': '2', vite: '7' } } },
      runs('node build', 'npm run build'),
    ],
    [
      'express',
      {
        package: { scripts: { start: 'node server.js' }, dependencies: { express: '5' } },
        pages: ['public'],
      },
      runs('npm run start'),
    ],
    [
      'express without a script',
      { package: { main: 'src/server.js', dependencies: { express: '5' } }, entries: ['src/server.js'] },
      runs('node src/server.js'),
    ],
    ['express with nothing to start', { package: { dependencies: { express: '5' } } }, runs(undefined)],
    [
      'a main that is no path',
      { package: { main: 'a b; c', dependencies: { express: '5' } } },
      runs(undefined),
    ],
    [
      'vite beside a program',
      {
        package: {
          scripts: { ...build, start: 'NODE_ENV=production node server.js' },
          devDependencies: { vite: '7' },
          dependencies: { express: '5' },
        },
      },
      runs('npm run start', 'npm run build'),
    ],
    [
      'a program without a framework',
      { package: { scripts: { start: 'node .' } }, entries: ['index.html'] },
      runs('npm run start'),
    ],
    ['no framework and no pages', { package: { scripts: build } }, runs(undefined, 'npm run build')],
  ])('%s is run as a program', async (_, shape, expected) => {
    expect(await serving(shape)).toEqual(expected);
  });
});

describe('a folder without a package.json', () => {
  const plain = (dir: string) => ({ deploy: { method: 'static' as const }, static: { dir } });
  const docker = { deploy: { method: 'docker' as const } };

  test.each<[string, Shape, Manifest]>([
    ['a page', { entries: ['index.html'] }, plain('.')],
    ['a page, and pages below', { entries: ['index.html'], pages: ['public'] }, plain('.')],
    ['pages below', { pages: ['public'] }, plain('public')],
    ['hugo', { entries: ['hugo.toml'] }, { ...plain('public'), build: 'hugo' }],
    ['mkdocs', { entries: ['mkdocs.yml', 'requirements.txt'] }, { ...plain('site'), build: 'mkdocs build' }],
    [
      'jekyll',
      { entries: ['_config.yml', 'index.html'] },
      { ...plain('_site'), build: 'bundle exec jekyll build' },
    ],
    [
      'go',
      { entries: ['go.mod', 'main.go'] },
      { ...docker, build: 'go build -o app .', start: './app', health: '/' },
    ],
    ['nothing', {}, docker],
    ['a folder called Dockerfile', { entries: ['Dockerfile/'] }, docker],
    ['a package.json that is no JSON', { texts: { 'package.json': '{' } }, docker],
    ['a package.json that is a list', { texts: { 'package.json': '[]' } }, docker],
  ])('with %s', async (_, shape, expected) => {
    expect(await serving(shape)).toEqual(expected);
  });
});

test('whatever lies in the folder, the file is one that the schema takes, with a reason for each value', async () => {
  const json = fc.oneof(
    fc.json(),
    fc
      .record({ name: fc.string(), main: fc.string(), scripts: fc.object(), dependencies: fc.object() })
      .map((it) => JSON.stringify(it)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      fc.subarray(['Dockerfile', 'compose.yml', 'index.html', 'hugo.toml', 'yarn.lock']),
      json,
      fc.option(fc.string(), { nil: undefined }),
      fc.subarray(['dist', 'public']),
      async (folder, entries, packageJson, origin, pages) => {
        const texts = { 'package.json': packageJson, Dockerfile: packageJson };
        const shape = { folder, entries, texts, pages, origin };
        const { manifest, evidence } = await detect(folderWith(shape), {});
        expect(Manifest.safeParse(manifest).error?.message).toBeUndefined();
        const found: Record<string, unknown> = Object.fromEntries(
          evidence.map(({ key, value }) => [key, value]),
        );
        expect(found).toEqual(leaves(manifest));
        for (const { because } of evidence) expect(because).not.toBe('');
      },
    ),
  );
});

/** `{ app: { slug: 'shop' } }` → `{ 'app.slug': 'shop' }` */
function leaves(value: object, above = ''): Record<string, unknown> {
  return Object.assign(
    {},
    ...Object.entries(value).map(([key, below]) =>
      typeof below === 'object' ? leaves(below, `${above}${key}.`) : { [above + key]: below },
    ),
  );
}
