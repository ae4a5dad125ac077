import { type Detected, noWay, type Way } from './detected.ts';
import type { SourceFiles } from './source-files.ts';

interface Package {
  scripts: Readonly<Record<string, string>>;
  dependencies: ReadonlySet<string>;
  main: string | null;
  packageManager: string | null;
}

/** The first that is depended on is what it is made with: those that build on others come before them. */
const frameworks: readonly Framework[] = [
  { package: 'next', name: 'nextjs', runs: 'next start' },
  { package: 'nuxt', name: 'nuxt', runs: 'node .output/server/index.mjs' },
  { package: '@remix-run/serve', name: 'remix', runs: 'remix-serve build/server/index.js' },
  { package: '@react-router/serve', name: 'react-router', runs: 'react-router-serve build/server/index.js' },
  { package: '@sveltejs/adapter-static', name: 'sveltekit', serves: 'build' },
  { package: '@sveltejs/kit', name: 'sveltekit', runs: 'node build' },
  { package: '@astrojs/node', name: 'astro', runs: 'node dist/server/entry.mjs' },
  { package: 'astro', name: 'astro', serves: 'dist' },
  { package: '@docusaurus/core', name: 'docusaurus', serves: 'build' },
  { package: 'gatsby', name: 'gatsby', serves: 'public' },
  { package: '@11ty/eleventy', name: 'eleventy', serves: '_site' },
  { package: 'vitepress', name: 'vitepress', serves: '.vitepress/dist' },
  { package: '@angular/core', name: 'angular', serves: 'dist' },
  { package: 'react-scripts', name: 'react', serves: 'build' },
  { package: '@nestjs/core', name: 'nestjs', runs: 'node dist/main.js' },
  { package: 'fastify', name: 'fastify', runs: null },
  { package: 'express', name: 'express', runs: null },
  { package: 'hono', name: 'hono', runs: null },
  { package: 'koa', name: 'koa', runs: null },
  { package: 'vite', name: 'vite', serves: 'dist' },
  { package: 'parcel', name: 'parcel', serves: 'dist' },
];

type Framework = { package: string; name: string } & (
  | { serves: string }
  /** Null: by its start script or its main file alone. */
  | { runs: string | null }
);

/** What a bundler shows, where it is only the means. */
const views: Readonly<Record<string, string>> = {
  react: 'react',
  vue: 'vue',
  svelte: 'svelte',
  preact: 'preact',
};

export async function detectJavaScript(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('package.json');
  const found = text === null ? null : packageIn(text);
  if (!found) return null;
  const manager = managerOf(files, found);
  const framework = frameworks.find((each) => found.dependencies.has(each.package)) ?? null;
  const common: Way = {
    ...noWay,
    language: files.paths.has('tsconfig.json') ? 'typescript' : 'javascript',
    framework: framework && nameOf(framework, found),
    install_command: manager.install,
    build_command: found.scripts.build === undefined ? null : `${manager.name} run build`,
  };
  const ways = waysOf(files, found, { manager, framework, common });
  return {
    ways: await withExport(files, framework, ways),
    packageManager: manager.name,
    evidence: [
      {
        file: 'package.json',
        says: framework ? `depends on ${framework.package}` : 'a package of JavaScript',
      },
      ...(manager.file ? [{ file: manager.file, says: `packages by ${manager.name}` }] : []),
    ],
  };
}

function waysOf(
  files: SourceFiles,
  found: Package,
  of: { manager: Manager; framework: Framework | null; common: Way },
): Way[] {
  const { manager, framework, common } = of;
  const script = found.scripts.start === undefined ? null : `${manager.name} start`;
  const mainFile = mainFileOf(files, found);
  const run = framework && 'runs' in framework ? framework.runs : null;
  const start = script ?? (run === null ? mainFile : inPackage(manager, run));
  const server: Way[] = start === null ? [] : [{ ...common, deploy_method: 'docker', start_command: start }];
  if (!framework || !('serves' in framework)) return server;
  const site: Way = { ...common, deploy_method: 'static', output_dir: framework.serves };
  return [site, ...server];
}

/** Next.js can be told to write a site of files, in its own configuration only. */
async function withExport(files: SourceFiles, framework: Framework | null, ways: Way[]): Promise<Way[]> {
  if (framework?.name !== 'nextjs') return ways;
  const configs = ['next.config.js', 'next.config.mjs', 'next.config.ts', 'next.config.cjs'];
  const name = configs.find((each) => files.paths.has(each));
  const text = name === undefined ? null : await files.read(name);
  if (!/\boutput\s*:\s*['"`]export['"`]/.test(text ?? '')) return ways;
  return ways.map((way) => ({ ...way, deploy_method: 'static', start_command: null, output_dir: 'out' }));
}

function nameOf(framework: Framework, { dependencies }: Package): string {
  if (framework.name !== 'vite') return framework.name;
  return Object.keys(views).find((view) => dependencies.has(view)) ?? 'vite';
}

function mainFileOf({ paths }: SourceFiles, { main }: Package): string | null {
  const candidates = [main, 'server.js', 'server.mjs', 'index.js', 'index.mjs', 'app.js', 'main.js'];
  const file = candidates.find(
    (each) => each !== null && isPlain(each) && paths.has(each.replace(/^\.\//, '')),
  );
  return file ? `node ${file}` : null;
}

/** It becomes a word of a command: nothing in it may mean something to a shell. */
const isPlain = (file: string) => /^[\w./@-]+$/.test(file) && !file.startsWith('-');

interface Manager {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  install: string;
  /** What tells it. */
  file: string | null;
}

function managerOf({ paths }: SourceFiles, { packageManager }: Package): Manager {
  const locks: Manager[] = [
    { name: 'pnpm', install: 'pnpm install --frozen-lockfile', file: 'pnpm-lock.yaml' },
    { name: 'yarn', install: 'yarn install --frozen-lockfile', file: 'yarn.lock' },
    { name: 'bun', install: 'bun install --frozen-lockfile', file: 'bun.lock' },
    { name: 'bun', install: 'bun install --frozen-lockfile', file: 'bun.lockb' },
    { name: 'npm', install: 'npm ci', file: 'package-lock.json' },
    { name: 'npm', install: 'npm ci', file: 'npm-shrinkwrap.json' },
  ];
  const locked = locks.find(({ file }) => file !== null && paths.has(file));
  if (locked) return locked;
  const named = (['pnpm', 'yarn', 'bun'] as const).find((name) => packageManager?.startsWith(`${name}@`));
  return { name: named ?? 'npm', install: `${named ?? 'npm'} install`, file: null };
}

function inPackage({ name }: Manager, command: string): string {
  if (command.startsWith('node ')) return command;
  return name === 'npm' ? `npx --no-install ${command}` : `${name} exec ${command}`;
}

function packageIn(text: string): Package | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(parsed)) return null;
  const names = (key: string) => (isObject(parsed[key]) ? Object.keys(parsed[key]) : []);
  const scripts = Object.entries(isObject(parsed.scripts) ? parsed.scripts : {});
  return {
    scripts: Object.fromEntries(
      scripts.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
    dependencies: new Set([...names('dependencies'), ...names('devDependencies')]),
    main: typeof parsed.main === 'string' ? parsed.main : null,
    packageManager: typeof parsed.packageManager === 'string' ? parsed.packageManager : null,
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
