import { isObject } from '../json.ts';
import { manifestPathPattern } from '../manifest.ts';
import { detectGenerator, findPages } from './other-languages.ts';
import { type BuildSettings, type Detected, type Evidence, unknownSettings } from './settings.ts';
import type { SourceFiles } from './source-files.ts';
import { yarnLockVersion } from './tools.ts';

interface Package {
  scripts: Readonly<Record<string, string>>;
  dependencies: ReadonlySet<string>;
  /** Fetched by the build script, without being a dependency. */
  builder: string | null;
  main: string | null;
  packageManager: string | null;
}

type Result = { serves: string } | { runs: string | null };

interface Framework {
  package: string;
  name: string;
  result: (source: Source) => Result | null | Promise<Result | null>;
}

interface Source {
  files: SourceFiles;
  found: Package;
}

const serves = (folder: string) => () => ({ serves: folder });
const runs = (command: string | null) => () => ({ runs: command });
/** Beside a program of its own, a bundler is a tool of that program. */
const bundles = (folder: string, tool?: string) => async (source: Source) =>
  startsServer(source.found) ? null : { serves: (tool && (await outDir(source.files, tool))) || folder };

/** The first dependency found counts: frameworks come before what they are built on. */
const frameworks: readonly Framework[] = [
  {
    package: 'next',
    name: 'nextjs',
    result: async ({ files }) =>
      /\boutput\s*:\s*['"`]export['"`]/.test(await configText(files, 'next'))
        ? { serves: 'out' }
        : { runs: 'next start' },
  },
  {
    package: 'nuxt',
    name: 'nuxt',
    result: ({ found }) =>
      /\bgenerate\b/.test(found.scripts.build ?? '')
        ? { serves: '.output/public' }
        : { runs: 'node .output/server/index.mjs' },
  },
  { package: '@remix-run/serve', name: 'remix', result: runs('remix-serve build/server/index.js') },
  {
    package: '@react-router/dev',
    name: 'react-router',
    result: async ({ files }) => {
      const config = await configText(files, 'react-router');
      if (!/^(?!\s*\/\/).*\bssr\s*:\s*false\b/m.test(config)) return null;
      const folder = /\bbuildDirectory\s*:\s*['"`]([^'"`$]+)['"`]/.exec(config)?.[1] ?? 'build';
      return { serves: inside(`${folder}/client`) ?? 'build/client' };
    },
  },
  {
    package: '@react-router/serve',
    name: 'react-router',
    result: runs('react-router-serve build/server/index.js'),
  },
  { package: '@sveltejs/adapter-static', name: 'sveltekit', result: serves('build') },
  { package: '@sveltejs/kit', name: 'sveltekit', result: runs('node build') },
  { package: '@astrojs/node', name: 'astro', result: runs('node dist/server/entry.mjs') },
  {
    package: 'astro',
    name: 'astro',
    result: async ({ files }) => ({ serves: (await outDir(files, 'astro')) ?? 'dist' }),
  },
  { package: '@docusaurus/core', name: 'docusaurus', result: serves('build') },
  { package: 'gatsby', name: 'gatsby', result: serves('public') },
  {
    package: '@11ty/eleventy',
    name: 'eleventy',
    result: async (source) => ({ serves: (await eleventyOutput(source)) ?? '_site' }),
  },
  {
    package: 'vitepress',
    name: 'vitepress',
    result: ({ found: { scripts } }) => {
      const root = /\bvitepress build\s+([\w./-]+)/.exec(buildScript(scripts)?.text ?? '')?.[1];
      return { serves: inside(`${root ?? '.'}/.vitepress/dist`) ?? '.vitepress/dist' };
    },
  },
  {
    package: '@angular/core',
    name: 'angular',
    result: async ({ files }) => ({ serves: (await angularOutput(files)) ?? 'dist' }),
  },
  { package: '@nestjs/core', name: 'nestjs', result: runs('node dist/main.js') },
  { package: 'react-scripts', name: 'react', result: bundles('build') },
  { package: '@vue/cli-service', name: 'vue', result: bundles('dist') },
  { package: 'vite', name: 'vite', result: bundles('dist', 'vite') },
  { package: 'parcel', name: 'parcel', result: bundles('dist') },
  ...['fastify', 'express', 'hono', 'koa', '@hapi/hapi', 'restify', 'polka'].map((name) => ({
    package: name,
    name: name.replace(/^@hapi\//, ''),
    result: runs(null),
  })),
];

const uiLibraries = ['react', 'vue', 'svelte', 'preact'] as const;

export async function detectJavaScript(files: SourceFiles): Promise<Detected | null> {
  const text = await files.read('package.json');
  const found = text === null ? null : parsePackage(text);
  if (!found) return null;
  const manager = await findManager(files, found);
  const source = { files, found };
  const match = await findFramework(source);
  const script = buildScript(found.scripts);
  const common: BuildSettings = {
    ...unknownSettings,
    language: files.paths.has('tsconfig.json') ? 'typescript' : 'javascript',
    framework: match && frameworkName(match.framework, found),
    install_command: manager.install,
    build_command: script && `${manager.name} run ${script.name}`,
  };
  const says = match ? relationTo(match.framework, found) : 'declares a JavaScript package';
  const lockEvidence: Evidence[] = manager.file
    ? [{ file: manager.file, says: `is the lock file of ${manager.name}` }]
    : [];
  const evidence: Evidence[] = [{ file: 'package.json', says }, ...lockEvidence];
  const program = programOptions(source, { manager, common, result: match?.result ?? { runs: null } });
  const packageManager = manager.name;
  if (match) {
    if ('runs' in match.result)
      return { options: programOrCommon(program, common), packageManager, evidence };
    const site: BuildSettings = { ...common, deploy_method: 'static', output_dir: match.result.serves };
    // A start script of a site generator is a development server, or serves the same files.
    return { options: [site, ...program], packageManager, evidence };
  }
  const generated = detectGenerator(files);
  if (generated) return generated;
  const isBuilt = found.scripts.build !== undefined;
  const pages = startsServer(found) ? null : findPages(files, isBuilt ? 'below_the_root' : 'anywhere');
  if (!pages) {
    return { options: programOrCommon(program, common), packageManager, evidence };
  }
  const site: BuildSettings = { ...common, deploy_method: 'static', output_dir: pages.folder };
  return { options: [site, ...program], packageManager, evidence: [pages.evidence, ...evidence] };
}

/** VitePress adds scripts of its own to a project. */
function buildScript(scripts: Package['scripts']): { name: string; text: string } | null {
  const text = scripts.build ?? null;
  if (text !== null) return { name: 'build', text };
  const docs = scripts['docs:build'];
  return docs !== undefined && /\bvitepress build\b/.test(docs) ? { name: 'docs:build', text: docs } : null;
}

function programOrCommon(program: BuildSettings[], common: BuildSettings): BuildSettings[] {
  return program.length > 0 ? program : [common];
}

async function findFramework(source: Source): Promise<{ framework: Framework; result: Result } | null> {
  for (const framework of frameworks) {
    const { dependencies, builder } = source.found;
    if (!dependencies.has(framework.package) && builder !== framework.package) continue;
    const result = await framework.result(source);
    if (result !== null) return { framework, result };
  }
  return null;
}

function relationTo(framework: Framework, { dependencies }: Package): string {
  return `${dependencies.has(framework.package) ? 'depends on' : 'builds with'} ${framework.package}`;
}

function programOptions(
  source: Source,
  { manager, common, result }: { manager: Manager; common: BuildSettings; result: Result },
): BuildSettings[] {
  const { scripts } = source.found;
  // The start script of NestJS compiles the source once more, with the tools for development.
  const name = common.framework === 'nestjs' && scripts['start:prod'] ? 'start:prod' : 'start';
  const script = scripts[name] === undefined ? null : `${manager.name} run ${name}`;
  const command = 'runs' in result ? result.runs : null;
  const start = script ?? (command === null ? mainCommand(source) : inPackage(manager, command));
  return start === null ? [] : [{ ...common, deploy_method: 'docker', start_command: start }];
}

function frameworkName({ name }: Framework, { dependencies }: Package): string {
  return name === 'vite' ? (uiLibraries.find((library) => dependencies.has(library)) ?? name) : name;
}

function startsServer({ scripts }: Package): boolean {
  return /^(?:cross-env\s+)?(?:[A-Z_]+=\S+\s+)*(?:node|bun|deno|tsx|ts-node|nodemon)\b/.test(
    scripts.start ?? '',
  );
}

function mainCommand({ files, found: { main, scripts } }: Source): string | null {
  const isPresent = (file: string) => files.paths.has(file.replace(/^\.\//, ''));
  if (main !== null && isShellSafe(main) && (isPresent(main) || scripts.build !== undefined))
    return `node ${main}`;
  const file = ['server.js', 'server.mjs', 'index.js', 'index.mjs', 'app.js', 'main.js'].find(isPresent);
  return file === undefined ? null : `node ${file}`;
}

const isShellSafe = (file: string) => /^[\w./@-]+$/.test(file) && !file.startsWith('-');

interface Manager {
  name: 'npm' | 'pnpm' | 'yarn' | 'bun';
  install: string;
  file: string | null;
}

const lockFiles: readonly (Manager & { file: string })[] = [
  { name: 'pnpm', install: 'pnpm install --frozen-lockfile', file: 'pnpm-lock.yaml' },
  { name: 'yarn', install: 'yarn install --frozen-lockfile', file: 'yarn.lock' },
  { name: 'bun', install: 'bun install --frozen-lockfile', file: 'bun.lock' },
  { name: 'bun', install: 'bun install --frozen-lockfile', file: 'bun.lockb' },
  { name: 'npm', install: 'npm ci', file: 'package-lock.json' },
  { name: 'npm', install: 'npm ci', file: 'npm-shrinkwrap.json' },
];

async function findManager(files: SourceFiles, { packageManager }: Package): Promise<Manager> {
  const declared = (['npm', 'pnpm', 'yarn', 'bun'] as const).find((name) =>
    packageManager?.startsWith(`${name}@`),
  );
  const locked = lockFiles.find(({ file, name }) => files.paths.has(file) && (declared ?? name) === name);
  const name = declared ?? 'npm';
  if (locked?.name === 'yarn' && (await yarnLockVersion(files)) !== null)
    return { ...locked, install: 'yarn install --immutable' };
  return locked ?? { name, install: `${name} install`, file: null };
}

function inPackage({ name }: Manager, command: string): string {
  if (command.startsWith('node ')) return command;
  return name === 'npm' ? `npx --no-install ${command}` : `${name} exec ${command}`;
}

const configNames = (tool: string) => ['js', 'mjs', 'cjs', 'ts', 'mts'].map((end) => `${tool}.config.${end}`);

async function configText(files: SourceFiles, tool: string): Promise<string> {
  const name = configNames(tool).find((each) => files.paths.has(each));
  return (name === undefined ? null : await files.read(name)) ?? '';
}

async function outDir(files: SourceFiles, tool: string): Promise<string | null> {
  const folder = /\boutDir\s*:\s*['"`]([^'"`$]+)['"`]/.exec(await configText(files, tool))?.[1];
  return folder === undefined ? null : inside(folder);
}

async function eleventyOutput({ files, found }: Source): Promise<string | null> {
  const config = (await files.read('.eleventy.js')) ?? (await configText(files, 'eleventy'));
  const folder =
    /\beleventy\b.*\s--output[= ]([\w./-]+)/.exec(found.scripts.build ?? '')?.[1] ??
    /\boutput\s*:\s*['"`]([^'"`$]+)['"`]/.exec(config)?.[1] ??
    /\bsetOutputDirectory\(\s*['"`]([^'"`$]+)['"`]/.exec(config)?.[1];
  return folder === undefined ? null : inside(folder);
}

/** Builders of the last years write into a folder of their own for the browser. */
async function angularOutput(files: SourceFiles): Promise<string | null> {
  try {
    const { projects } = JSON.parse((await files.read('angular.json')) ?? '');
    const [name, project] = Object.entries<Record<string, unknown>>(projects)[0] ?? [];
    const { build } = objectOrEmpty(project?.architect ?? project?.targets);
    const { builder, options } = objectOrEmpty(build);
    const { outputPath = `dist/${name}` } = objectOrEmpty(options);
    const { base = outputPath, browser = 'browser' } = objectOrEmpty(outputPath);
    const isSplit = typeof builder === 'string' && /:(?:application|browser-esbuild)$/.test(builder);
    return inside(isSplit && browser !== '' ? `${base}/${browser}` : `${base}`);
  } catch {
    return null;
  }
}

function inside(path: string): string | null {
  const short = path.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '');
  return manifestPathPattern.test(short) ? short : null;
}

function parsePackage(text: string): Package | null {
  let data: unknown;
  try {
    data = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return null;
  }
  if (!isObject(data)) return null;
  const isScript = (entry: [string, unknown]): entry is [string, string] =>
    typeof entry[1] === 'string' && entry[1].trim() !== '';
  const scripts = Object.fromEntries(Object.entries(objectOrEmpty(data.scripts)).filter(isScript));
  const dependencies = [data.dependencies, data.devDependencies].flatMap((part) =>
    Object.keys(objectOrEmpty(part)),
  );
  return {
    scripts,
    dependencies: new Set(dependencies),
    builder: /\bnpx\s+(?:-\S+\s+)*((?:@[\w.-]+\/)?[\w.-]+)/.exec(scripts.build ?? '')?.[1] ?? null,
    main: textOrNull(data.main),
    packageManager: textOrNull(data.packageManager),
  };
}

const objectOrEmpty = (value: unknown) => (isObject(value) ? value : {});
const textOrNull = (value: unknown) =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
