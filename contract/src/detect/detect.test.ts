import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { detectSource } from './detect.ts';
import type { SourceFiles } from './source-files.ts';

function filesOf(files: Record<string, string>): SourceFiles {
  return { paths: new Set(Object.keys(files)), read: async (path) => files[path] ?? null };
}

const detect = (files: Record<string, string>) => detectSource(filesOf(files));
const packageJson = (dependencies: string[], more: Record<string, unknown> = {}) =>
  JSON.stringify({ dependencies: Object.fromEntries(dependencies.map((name) => [name, '1'])), ...more });
const scripts = { build: 'x', start: 'y' };

test.each([
  ['next', 'nextjs', 'docker', null, 'npm run start'],
  ['nuxt', 'nuxt', 'docker', null, 'npm run start'],
  ['astro', 'astro', 'static', 'dist', null],
  ['@11ty/eleventy', 'eleventy', 'static', '_site', null],
  ['gatsby', 'gatsby', 'static', 'public', null],
  ['@docusaurus/core', 'docusaurus', 'static', 'build', null],
  ['vite', 'vite', 'static', 'dist', null],
  ['react-scripts', 'react', 'static', 'build', null],
  ['@angular/core', 'angular', 'static', 'dist', null],
  ['express', 'express', 'docker', null, 'npm run start'],
  ['fastify', 'fastify', 'docker', null, 'npm run start'],
] as const)('%s is %s', async (dependency, framework, method, output, start) => {
  const { options, evidence } = await detect({ 'package.json': packageJson([dependency], { scripts }) });
  expect(options[0]).toMatchObject({
    deploy_method: method,
    framework,
    install_command: 'npm install',
    build_command: 'npm run build',
    output_dir: output,
    start_command: start,
  });
  expect(evidence[0]).toEqual({ file: 'package.json', says: `depends on ${dependency}` });
});

test('the output of Angular is where its builder writes it', async () => {
  const output = async (build: object) => {
    const files = {
      'package.json': packageJson(['@angular/core'], { scripts }),
      'angular.json': JSON.stringify({ projects: { shop: { architect: { build } } } }),
    };
    return (await detect(files)).options[0]?.output_dir;
  };
  expect(await output({ builder: '@angular/build:application' })).toBe('dist/shop/browser');
  expect(await output({ builder: '@angular/build:application', options: { outputPath: 'out' } })).toBe(
    'out/browser',
  );
  const named = { outputPath: { base: 'out', browser: '' } };
  expect(await output({ builder: '@angular/build:application', options: named })).toBe('out');
  expect(
    await output({ builder: '@angular-devkit/build-angular:browser', options: { outputPath: 'dist/a' } }),
  ).toBe('dist/a');
  expect(await output({})).toBe('dist/shop');
});

test('a bundler is named after its UI library', async () => {
  const { options } = await detect({ 'package.json': packageJson(['vite', 'react'], { scripts }) });
  expect(options.map((option) => [option.framework, option.deploy_method])).toEqual([
    ['react', 'static'],
    ['react', 'docker'],
  ]);
});

test('a static export of Next.js is served as files', async () => {
  const files = {
    'package.json': packageJson(['next'], { scripts }),
    'next.config.mjs': "export default { output: 'export' }",
  };
  expect((await detect(files)).options[0]).toMatchObject({
    deploy_method: 'static',
    output_dir: 'out',
    start_command: null,
  });
});

test.each([
  ['package-lock.json', 'npm', 'npm ci', 'npm run build'],
  ['pnpm-lock.yaml', 'pnpm', 'pnpm install --frozen-lockfile', 'pnpm run build'],
  ['yarn.lock', 'yarn', 'yarn install --frozen-lockfile', 'yarn run build'],
  ['bun.lock', 'bun', 'bun install --frozen-lockfile', 'bun run build'],
])('%s selects the package manager %s', async (lock, manager, install, build) => {
  const { options, packageManager, evidence } = await detect({
    'package.json': packageJson(['astro'], { scripts }),
    [lock]: '',
  });
  expect([packageManager, options[0]?.install_command, options[0]?.build_command]).toEqual([
    manager,
    install,
    build,
  ]);
  expect(evidence.map(({ file }) => file)).toContain(lock);
});

test('without a start script the main file is run, if its name is safe in a shell', async () => {
  const plain = await detect({ 'package.json': packageJson([], { main: 'src/main.js' }), 'src/main.js': '' });
  expect(plain.options[0]?.start_command).toBe('node src/main.js');
  const odd = '$(touch x).js';
  const unsafe = await detect({ 'package.json': packageJson([], { main: odd }), [odd]: '' });
  expect(unsafe.options.map(({ start_command }) => start_command)).toEqual([null]);
});

test('a Dockerfile comes first, a compose file second, and the others are alternatives', async () => {
  const { options, evidence } = await detect({
    Dockerfile: 'FROM scratch',
    'compose.yaml': '',
    'package.json': packageJson(['vite'], { scripts }),
  });
  expect(
    options.map((option) => [
      option.deploy_method,
      option.dockerfile ?? option.compose_file ?? option.output_dir,
    ]),
  ).toEqual([
    ['docker', 'Dockerfile'],
    ['compose', 'compose.yaml'],
    ['static', 'dist'],
  ]);
  expect(evidence.map(({ file }) => file)).toEqual(['compose.yaml', 'Dockerfile', 'package.json']);
});

test.each([
  [
    { 'requirements.txt': 'Flask==3', 'app.py': '' },
    'python',
    'flask',
    'python -m flask --app app run --host 0.0.0.0 --port $PORT',
  ],
  [
    { 'requirements.txt': 'fastapi', 'main.py': '' },
    'python',
    'fastapi',
    'python -m uvicorn main:app --host 0.0.0.0 --port $PORT',
  ],
  [{ 'go.mod': 'module x' }, 'go', null, './app'],
  [{ Gemfile: "gem 'rails'" }, 'ruby', 'rails', 'bundle exec rails server -b 0.0.0.0 -p $PORT'],
  [{ 'composer.json': '{}', 'public/index.php': '' }, 'php', null, 'php -S 0.0.0.0:$PORT -t public'],
  [{ 'Cargo.toml': '[package]\nname = "shop"' }, 'rust', null, './target/release/shop'],
  [{ 'pom.xml': '' }, 'java', null, null],
] as [Record<string, string>, string, string | null, string | null][])(
  'the language of %p is detected',
  async (files, language, framework, start) => {
    expect((await detect(files)).options[0]).toMatchObject({
      language,
      framework,
      start_command: start,
      deploy_method: 'docker',
    });
  },
);

test('HTML pages alone are served as a static site', async () => {
  expect((await detect({ 'index.html': '' })).options[0]).toMatchObject({
    deploy_method: 'static',
    output_dir: '.',
  });
  expect((await detect({ 'public/index.html': '' })).options[0]).toMatchObject({ output_dir: 'public' });
});

test('nothing is detected in a folder without known files', async () => {
  expect(await detect({ 'notes.txt': '' })).toEqual({ options: [], packageManager: null, evidence: [] });
});

test('any package.json is handled, and commands contain only safe names from it', async () => {
  const odd = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constantFrom('null', '[]', '{"scripts":null}', '{"dependencies":[1]}'),
  );
  await fc.assert(
    fc.asyncProperty(odd, async (text) => {
      const { options } = await detect({ 'package.json': text });
      for (const option of options) expect(option.start_command ?? '').toMatch(/^[\w ./@-]*$/);
    }),
  );
});
