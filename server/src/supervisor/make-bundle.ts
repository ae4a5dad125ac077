import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { tryLock } from '../drivers/os/files.ts';
import {
  bundlesFolder,
  describeSource,
  findCurrentBundle,
  type Manifest,
  manifestPath,
  programs,
  readManifest,
} from './bundle.ts';

/** Beside what is imported: these decide how it is resolved and compiled. */
const settings = ['package-lock.json', 'tsconfig.json', 'server/src/supervisor/make-bundle.ts'];

/** Makes the bundles of the server's programs, unless they are current or another process makes them. */
export async function makeBundle(root: string): Promise<void> {
  const folder = bundlesFolder(root);
  mkdirSync(folder, { recursive: true });
  share(root, folder);
  const lock = tryLock(join(folder, 'lock'));
  if (!('release' in lock)) return;
  try {
    if (!findCurrentBundle(root)) publish(root, await build(root, crypto.randomUUID()));
  } finally {
    lock.release();
  }
}

async function build(root: string, name: string): Promise<Manifest> {
  const startedAt = Date.now();
  const outdir = join(bundlesFolder(root), name);
  const { metafile } = await Bun.build({
    entrypoints: programs.map((program) => join(root, 'server', 'src', program)),
    outdir,
    naming: '[name].[ext]',
    target: 'bun',
    // Bun reads bytecode of CommonJS only.
    format: 'cjs',
    bytecode: true,
    // Loaded when they are needed: megabytes of words for new passwords; and libraries that a bundle would evaluate in another
    // order than their imports say, so that they miss `reflect-metadata`.
    external: ['@zxcvbn-ts/*', '@simplewebauthn/server', 'acme-client'],
    // So that stack traces name the sources.
    sourcemap: 'linked',
    metafile: true,
  });
  for (const path of [outdir, ...readdirSync(outdir).map((file) => join(outdir, file))]) share(root, path);
  const inputs = Object.keys(metafile?.inputs ?? {}).map((path) => relative(root, resolve(path)));
  // Dependencies change with the lock file.
  const own = inputs.filter((path) => !/^(?:\.\.|node_modules)[\\/]/.test(path));
  const sources = Object.fromEntries(
    [...own, ...settings].map((path) => [path, describeSource(join(root, path))]),
  );
  const changed = Object.keys(sources).find((path) => (sources[path]?.mtimeMs ?? 0) > startedAt);
  if (changed) throw new Error(`${changed} was changed meanwhile.`);
  return { bun: Bun.revision, root, folder: name, sources };
}

/** The bundle before this one stays: a running server reads its source maps. */
function publish(root: string, manifest: Manifest): void {
  const before = readManifest(root)?.folder;
  const temporary = `${manifestPath(root)}.new`;
  writeFileSync(temporary, JSON.stringify(manifest));
  share(root, temporary);
  renameSync(temporary, manifestPath(root));
  for (const entry of readdirSync(bundlesFolder(root), { withFileTypes: true }))
    if (entry.isDirectory() && entry.name !== manifest.folder && entry.name !== before)
      rmSync(join(bundlesFolder(root), entry.name), { recursive: true, force: true });
}

/** Readable by the server's user, and removable by the owner of the installation, also when root makes it. */
function share(root: string, path: string): void {
  chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(bundlesFolder(root)));
  chownSync(path, uid, gid);
}
