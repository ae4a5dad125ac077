import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { BuildError, type BuildJob } from '../runtime.ts';
import { removeTree } from './trees.ts';

/**
 * What a build can take over from the build before: the installed packages, if nothing that decides about them changed,
 * and the caches of frameworks. Both are in the home folder of the app's builds. A build for a review takes it from the last
 * approved one, so that nothing of a rejected build gets into what people approve. The scripts run in the sandbox like
 * the build's own commands, because root must not walk folders that an app can write.
 */
interface BuildCache {
  hasPackages: boolean;
  restorePackages: string;
  /** Of the install command, after `restorePackages`. Null if nothing is left to do. */
  updateCommand: string | null;
  storePackages: string;
  hasOutput: boolean;
  restoreOutput: string;
  canStoreOutput(): boolean;
  storeOutput: string;
  remove(runScript: (script: string) => Promise<unknown>): Promise<unknown>;
}

export function openBuildCache(
  job: BuildJob,
  folders: { tree: string; home: string; cacheHome: string },
): BuildCache | null {
  const { installCommand, dir } = job.plan;
  if (process.platform !== 'linux' || installCommand === null) return null;
  const inputs = findInstallInputs(folders.tree);
  if (inputs === null) return null;
  const hash = createHash('sha256').update(
    JSON.stringify([installCommand, job.tools, installVariables(job)]),
  );
  for (const path of inputs) hash.update(`\0${relative(folders.tree, path)}\0`).update(installInput(path));
  const name = hash.digest('hex').slice(0, 32);
  const packages = `"$HOME"/${cacheFolder}/packages-${name}`;
  const output = `"$HOME"/${cacheFolder}/output`;
  const stored = join(folders.cacheHome, cacheFolder);
  const from = (entry: string) => quote(join(stored, entry));
  const quotedDir = quote(`./${dir}`);
  return {
    hasPackages: isFolder(join(stored, `packages-${name}`)),
    restorePackages: `cp -a --reflink=auto ${from(`packages-${name}`)}/. .`,
    updateCommand:
      onlyInstalls.test(installCommand) && !inputs.some(hasInstallScript)
        ? null
        : installCommand.replace(/\bnpm ci$/, 'npm install --prefer-offline'),
    storePackages: storeScript(packages, `"$HOME"/${cacheFolder}/packages-*`, {
      list: `find . \\( -type d \\( -name node_modules -o -path ./.yarn/cache -o -path ./.yarn/unplugged \\) -prune \\
  -o -type f \\( -name '.pnp.*' -o -path ./.yarn/install-state.gz \\) \\) -print`,
      mbMax: packagesMbMax,
    }),
    hasOutput: isFolder(join(stored, 'output')),
    restoreOutput: `cd ${quotedDir} && cp -a --reflink=auto ${from('output')}/. .`,
    canStoreOutput: () => outputFolders.some((name) => existsSync(join(folders.tree, dir, name))),
    storeOutput: `cd ${quotedDir} && ${storeScript(output, output, {
      list: `for it in ${outputFolders.join(' ')}; do if [ -d "$it" ]; then echo "$it"; fi; done`,
      mbMax: outputMbMax,
    })}`,
    remove: (runScript) =>
      folders.cacheHome === folders.home ? runScript(`rm -rf "$HOME"/${cacheFolder}`) : removeTree(stored),
  };
}

/** Without the port at which a build finds the platform, which each start of the server chooses. */
const installInput = (path: string) =>
  readFileSync(path, 'latin1').replace(/\bhttp:\/\/127\.0\.0\.1:\d+(?=\/sdk\.tgz)/g, '');

const quote = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;

const isFolder = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Replaces what the other build has stored, too. Nothing of an app's builds runs meanwhile. */
export async function moveBuildCache(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, cacheFolder), join(to, cacheFolder)];
  if (!isFolder(source)) return;
  if (!isFolder(target)) {
    await removeTree(target);
    await mkdir(target, { mode: 0o755 });
  }
  const kindOf = (name: string) => /^(?:packages(?=-[0-9a-f]{32}$)|output$)/.exec(name)?.[0];
  for (const name of readdirSync(source)) {
    const kind = kindOf(name);
    if (kind === undefined || !isFolder(join(source, name))) continue;
    for (const old of readdirSync(target)) if (kindOf(old) === kind) await removeTree(join(target, old));
    await rename(join(source, name), join(target, name));
  }
}

interface Runner {
  run(command: string): Promise<void>;
  runScript(script: string): Promise<void>;
}

/** What fails after it used the cache runs without it the next time. */
export async function runCached(job: BuildJob, cache: BuildCache | null, runner: Runner): Promise<void> {
  const { installCommand, buildCommand } = job.plan;
  const runScript = (script: string) =>
    runner.runScript(script).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof BuildError)) throw error;
        job.log('platform', `The build cache: ${error.message}`);
        return false;
      },
    );
  const run = async (command: string, usesCache: boolean | undefined) => {
    try {
      await runner.run(command);
    } catch (error) {
      if (cache && usesCache && error instanceof BuildError) await cache.remove(runScript);
      throw error;
    }
  };
  const isRestored = cache?.hasPackages && (await runScript(cache.restorePackages));
  const last = job.isReviewed ? 'last approved build' : 'last build';
  if (isRestored) job.log('platform', `The same packages as in the ${last}: restored from the cache.`);
  if (installCommand !== null && !isRestored) await runner.run(installCommand);
  if (isRestored && cache.updateCommand !== null) await run(cache.updateCommand, true);
  if (cache && !isRestored) await runScript(cache.storePackages);
  if (buildCommand === null) return;
  if (cache?.hasOutput) await runScript(cache.restoreOutput);
  await run(buildCommand, isRestored || cache?.hasOutput);
  if (cache?.canStoreOutput()) await runScript(cache.storeOutput);
}

export const cacheFolder = '.svc-build-cache';
const packagesMbMax = 2_048;
const outputMbMax = 1_024;

/** Below the folder of the app. Gatsby's are left out: they hold only together with its whole output. */
const outputFolders = [
  '.next/cache',
  '.angular/cache',
  '.parcel-cache',
  '.turbo',
  'node_modules/.cache',
  'node_modules/.vite',
  'node_modules/.astro',
];

/** Replaces `old` by the listed folders, in one step; a folder that is too large is not stored. */
function storeScript(to: string, old: string, { list, mbMax }: { list: string; mbMax: number }): string {
  return `set -e
new="$HOME"/${cacheFolder}/new
rm -rf "$new"; mkdir -p "$new"
${list} >"$new.list"
size=0
if [ -s "$new.list" ]; then
  size=$(tr '\\n' '\\0' <"$new.list" | du -scm --files0-from=- | tail -n 1 | cut -f 1)
  if [ "$size" -le ${mbMax} ]; then tr '\\n' '\\0' <"$new.list" | xargs -0 cp -a --reflink=auto --parents -t "$new"; fi
fi
rm -rf ${old}
if [ -s "$new.list" ] && [ "$size" -le ${mbMax} ]; then mv "$new" ${to}; fi
rm -rf "$new" "$new.list"`;
}

const lockFiles = new Set([
  'package-lock.json',
  'npm-shrinkwrap.json',
  'yarn.lock',
  'pnpm-lock.yaml',
  'bun.lock',
  'bun.lockb',
]);
const settingFiles = new Set([
  'package.json',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  'pnpm-workspace.yaml',
  '.pnpmfile.cjs',
  'bunfig.toml',
]);
const onlyInstalls =
  /^(?:cd [\w./-]+ && )?(?:npm (?:ci|install)|(?:pnpm|yarn|bun) install(?: --(?:frozen-lockfile|immutable))?)$/;
const installScripts = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
];

/** Scripts of the project itself, which may depend on other files of it. */
function hasInstallScript(path: string): boolean {
  if (!path.endsWith('/package.json')) return false;
  const text = readFileSync(path, 'utf8');
  return installScripts.some((name) => text.includes(`"${name}"`));
}

const isPatch = /(?:^|\/)(?:patches|\.yarn\/(?:patches|plugins|releases))\//;
const foldersMax = 5_000;

/** Null without a lock file, which alone says that the same packages would be installed. */
function findInstallInputs(tree: string): string[] | null {
  const found: string[] = [];
  const folders = [tree];
  let visited = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    visited++;
    if (visited > foldersMax) return null;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.name === 'node_modules') return null;
      if (entry.isDirectory() && entry.name !== '.git') folders.push(path);
      if (entry.isFile() && decidesInstall(entry.name, relative(tree, path))) found.push(path);
    }
  }
  const hasLock = found.some((path) => lockFiles.has(path.slice(path.lastIndexOf('/') + 1)));
  return hasLock ? found.sort() : null;
}

const decidesInstall = (name: string, path: string) =>
  lockFiles.has(name) || settingFiles.has(name) || isPatch.test(path);

const installVariables = ({ env }: BuildJob) =>
  Object.entries(env)
    .filter(([name]) => /^(?:NODE_ENV|CI|(?:npm|yarn|pnpm|bun)_.*)$/i.test(name))
    .sort();
