import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { healthTimeoutSecondsDefault } from '@svc/contract/deployments.ts';
import { detectFolder, detectSource } from '@svc/contract/detect/detect.ts';
import { procfileCommand, procfileWorkers } from '@svc/contract/detect/procfile.ts';
import { type BuildSettings, isDeployable, unknownSettings } from '@svc/contract/detect/settings.ts';
import { listSourceFiles, type SourceFiles, sourceFileBytesMax } from '@svc/contract/detect/source-files.ts';
import { type RequiredTool, requiredTools } from '@svc/contract/detect/tools.ts';
import {
  type HostingFiles,
  projectHostingFiles,
  publishedHostingFiles,
  readHostingFiles,
} from '@svc/contract/hosting-files.shapes.ts';
import { type Manifest, manifestOf } from '@svc/contract/manifest.shapes.ts';
import {
  durationMs,
  healthTimeoutMinutesMax,
  manifestFileNames,
  processesMax,
} from '@svc/contract/manifest.ts';
import { manifestTooLargeError, parseManifestDocument } from '@svc/contract/manifest-document.ts';
import { faultText, ManifestFaults } from '@svc/contract/manifest-faults.ts';
import { runTimeoutSecondsDefault } from '@svc/contract/runs.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import * as yaml from 'yaml';
import { resolveFolder } from '../../drivers/runtime/process/trees.ts';
import { BuildError, type BuildPlan, type DeployMethod } from '../../drivers/runtime/runtime.ts';
import { findScheduleProblem, type PlannedSchedule } from './schedule-times.ts';

export interface SourcePlan {
  method: DeployMethod;
  plan: BuildPlan;
  health: { path: string | null; timeoutMs: number };
  firstByteMs: number | null;
  processes: Readonly<Record<string, PlannedProcess>>;
  sleepMs: number | null;
  release: string | null;
  schedules: readonly PlannedSchedule[];
  tables: Manifest['tables'];
  env: Readonly<Record<string, string>>;
  framework: string;
  site: SiteConfig | null;
  hosting: HostingFiles;
  wantsStorage: boolean;
  dataScopes: readonly string[];
  seed: string | null;
  notes: string[];
  tools: RequiredTool[];
}

export interface PlannedProcess {
  command: string | null;
  instances: number | null;
}

export async function planSource(folder: string, app: { method: DeployMethod }): Promise<SourcePlan> {
  const root = await folderFiles(folder);
  const manifest = await readManifest(root);
  const build = typeof manifest.build === 'object' ? manifest.build : { command: manifest.build };
  const { deploy, health } = manifest;
  // Commands and paths in svc.yaml are written for the root.
  const written = [build.install, build.command, manifest.start, manifest.static?.dir, deploy?.dockerfile];
  const isWritten = [...written, deploy?.compose_file].some((it) => it !== undefined);
  const dir = build.dir ?? (isWritten ? null : await onlyApp(root)) ?? '.';
  // A symbolic link could lead out of the source.
  const below = dir === '.' ? folder : ((await resolveFolder(folder, dir)) ?? missing(dir));
  const own = dir === '.' ? root : await folderFiles(below).catch(() => missing(dir));
  const { detected, files } = await detectFolder(root, dir, own);
  if (deploy?.method !== undefined && deploy.method !== app.method)
    throw new BuildError(
      'detect',
      `svc.yaml: deploy.method is ${deploy.method}, but the app was created with ${app.method}, which cannot change.`,
    );
  // In a workspace the folder is chosen already.
  const options = detected.options.filter((option) => option.dir === null || option.dir === dir);
  const method = app.method === 'docker' && isSite(manifest, options) ? 'static' : app.method;
  const [best = unknownSettings] = options;
  const settings = options.find((option) => option.deploy_method === method) ?? {
    ...unknownSettings,
    language: best.language,
    install_command: best.install_command,
    // With a start command in svc.yaml, a Procfile needs no web process.
    release_command: method === 'docker' ? await procfileCommand(own, 'release') : null,
  };
  const workers = method === 'docker' ? await plannedWorkers(manifest, own) : {};
  if (method === 'compose') refuseProcesses(manifest);
  const { release, schedules, ignored } = planCommands(manifest, settings, method);
  const hosting = await readHosting(files);
  const inDir = (file: string | null) => (file === null || dir === '.' ? file : `${dir}/${file}`);
  return {
    method,
    plan: {
      installCommand: stepCommand(build.install, settings.install_command),
      buildCommand: stepCommand(build.command, settings.build_command),
      dir,
      startCommand: method === 'docker' ? stepCommand(manifest.start, settings.start_command) : null,
      outputDir: method === 'static' ? (manifest.static?.dir ?? settings.output_dir ?? '.') : null,
      dockerfile: method === 'docker' ? (deploy?.dockerfile ?? inDir(settings.dockerfile)) : null,
      composeFile: method === 'compose' ? (deploy?.compose_file ?? inDir(settings.compose_file)) : null,
      language: settings.language,
    },
    health: {
      path: (typeof health === 'string' ? health : health?.path) ?? null,
      timeoutMs: Math.min(
        (typeof health === 'object' && health.timeout !== undefined ? durationMs(health.timeout) : null) ??
          healthTimeoutSecondsDefault * 1000,
        healthTimeoutMinutesMax * 60_000,
      ),
    },
    firstByteMs:
      manifest.timeouts?.first_byte === undefined ? null : durationMs(manifest.timeouts.first_byte),
    processes:
      method === 'static'
        ? {}
        : { web: { command: null, instances: manifest.instances ?? null }, ...workers },
    sleepMs: method === 'static' || manifest.sleep === undefined ? null : durationMs(manifest.sleep),
    release,
    schedules,
    tables: manifest.tables,
    env: manifest.env ?? {},
    framework: frameworkOf(settings),
    site: siteConfig(manifest, settings),
    hosting,
    wantsStorage: manifest.storage?.enabled === true,
    dataScopes: manifest.app?.data_scopes ?? [],
    seed: manifest.previews?.seed ?? null,
    tools: await requiredTools(files),
    notes: [
      ...detected.evidence.map(({ file, says }) => `${file} ${says}`),
      ...unusedNotes(manifest, method),
      ...Object.keys(workers).map((name) => `The process ${name} runs beside the app.`),
      ...(Object.keys(manifest).length > 0 ? ['svc.yaml sets how the app is built and run.'] : []),
      ...ignored,
      ...(method === 'static' ? [] : await unusedRules(files, hosting)),
    ],
  };
}

/** A process of svc.yaml replaces the one of the Procfile with the same name. */
async function plannedWorkers({ processes = {} }: Manifest, files: SourceFiles) {
  const planned = new Map<string, PlannedProcess>();
  for (const [name, command] of Object.entries(await procfileWorkers(files)))
    planned.set(name, { command, instances: null });
  for (const [name, process] of Object.entries(processes)) {
    if (process === false) planned.delete(name);
    else if (typeof process === 'string') planned.set(name, { command: process, instances: null });
    else planned.set(name, { command: process.command, instances: process.instances ?? null });
  }
  if (planned.size > processesMax)
    throw new BuildError('detect', `The Procfile has more than ${processesMax} processes beside web.`);
  return Object.fromEntries(planned);
}

function unusedNotes(manifest: Manifest, method: DeployMethod): string[] {
  if (method !== 'static') return [];
  const unused = (['instances', 'processes', 'sleep'] as const).filter((key) => manifest[key] !== undefined);
  if (unused.length === 0) return [];
  return [
    `A site has no process: ${unused.join(' and ')} of svc.yaml ${unused.length > 1 ? 'are' : 'is'} not used.`,
  ];
}

function refuseProcesses({ processes, instances }: Manifest): void {
  if (processes === undefined && instances === undefined) return;
  throw new BuildError(
    'detect',
    'svc.yaml: processes and instances are not for a compose file, which itself says what runs.',
  );
}

async function onlyApp(root: SourceFiles): Promise<string | null> {
  const apps = (await detectSource(root)).options.filter(isDeployable);
  if (apps.some(({ dir }) => dir === null)) return null;
  const [first, ...others] = new Map(apps.map((app) => [app.dir, app])).values();
  if (!first || others.length === 0) return first?.dir ?? null;
  const named = [first, ...others].map(({ dir, framework }) => `${dir}${framework ? ` (${framework})` : ''}`);
  throw new BuildError(
    'detect',
    `The repository has several apps: ${named.join(', ')}. Choose one: build.dir in svc.yaml, such as \`build: { dir: ${first.dir} }\`.`,
  );
}

function stepCommand(declared: string | false | undefined, found: string | null): string | null {
  return declared === false ? null : (declared ?? found);
}

function planCommands(manifest: Manifest, settings: BuildSettings, method: DeployMethod) {
  const schedules = (manifest.schedules ?? []).map((each): PlannedSchedule => {
    const { name, cron, timezone = 'UTC', run = null, path = null, timeout } = each;
    const problem = findScheduleProblem({ cron, timezone });
    if (problem !== null) throw new BuildError('detect', `svc.yaml: schedule ${name}: ${problem}`);
    const timeoutSeconds = timeout === undefined ? runTimeoutSecondsDefault : durationMs(timeout) / 1_000;
    return {
      name,
      cron,
      timezone,
      command: run,
      path,
      timeoutSeconds: Math.max(1, Math.ceil(timeoutSeconds)),
    };
  });
  const release = stepCommand(manifest.release, settings.release_command);
  if (method !== 'static') return { release, schedules, ignored: [] };
  const names = [
    ...(release === null ? [] : ['the release command']),
    ...schedules.map(({ name }) => `schedule ${name}`),
  ];
  const ignored = names.length === 0 ? [] : [`Ignored: ${names.join(', ')}; a site runs no commands.`];
  return { release: null, schedules: [], ignored };
}

function isSite({ start, static: site, deploy }: Manifest, [best]: readonly BuildSettings[]): boolean {
  if (start !== undefined) return start === false;
  if (deploy?.dockerfile !== undefined) return false;
  return site?.dir !== undefined || best?.deploy_method === 'static';
}

const frameworkOf = ({ framework, language }: BuildSettings) =>
  language === 'python' ? language : (framework ?? language);

/** Their pages are made in the browser: every path shows the same file. */
const singlePageFrameworks: readonly string[] = [
  'react',
  'react-router',
  'vue',
  'svelte',
  'preact',
  'vite',
  'angular',
];

function siteConfig({ site }: Manifest, { framework }: BuildSettings): SiteConfig | null {
  if (framework === null || !singlePageFrameworks.includes(framework)) return site ?? null;
  return { spa: true, ...site };
}

async function readHosting(files: SourceFiles): Promise<HostingFiles> {
  const entries = projectHostingFiles.map(async (name) => [name, await files.read(name)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

const publishedFolders = ['', 'public/', 'static/'];

/** Rules for other hosts of an app that is no site: its server answers all paths by itself. */
async function unusedRules(files: SourceFiles, hosting: HostingFiles): Promise<string[]> {
  const found = { ...hosting };
  for (const name of publishedHostingFiles) {
    const path = publishedFolders.map((folder) => folder + name).find((each) => files.paths.has(each));
    if (path !== undefined) found[name] = await files.read(path);
  }
  const { applied, unsupported } = readHostingFiles(found, Bun.TOML.parse);
  const unused = applied.map((rule) => `${rule}: the server of the app answers all paths`);
  return [...unused, ...unsupported].map((text) => `Not applied: ${text}.`);
}

function missing(dir: string): never {
  throw new BuildError('detect', `svc.yaml: the folder ${dir} of build.dir does not exist.`);
}

async function readManifest(files: SourceFiles): Promise<Manifest> {
  const name = manifestFileNames.find((each) => files.paths.has(each));
  if (name === undefined) return {};
  try {
    const text = await files.read(name);
    if (text === null) throw manifestTooLargeError();
    return manifestOf(parseManifestDocument(yaml, text));
  } catch (error) {
    if (!(error instanceof ManifestFaults)) throw error;
    const texts = error.faults.slice(0, faultsMax).map((fault) => faultText(name, fault));
    throw new BuildError('detect', texts.join('; '));
  }
}

const faultsMax = 20;

const lockFile = /(?:^|\/)(?:yarn\.lock|pnpm-lock\.yaml)$/;

/** Symbolic links are neither followed nor read. */
async function folderFiles(folder: string): Promise<SourceFiles> {
  const paths = await listSourceFiles((path) => readdir(join(folder, path), { withFileTypes: true }));
  return {
    paths,
    async read(path) {
      if (!paths.has(path)) return null;
      const file = join(folder, path);
      const found = await lstat(file).catch(() => null);
      if (!found?.isFile()) return null;
      if (found.size <= sourceFileBytesMax) return Bun.file(file).text();
      // The start of a lock file says its version.
      return lockFile.test(path) ? Bun.file(file).slice(0, sourceFileBytesMax).text() : null;
    },
  };
}
