import { afterAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-start-')));
afterAll(() => rmSync(folder, { recursive: true }));

const lock = '{"lockfileVersion":3}';
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** A project with the launcher alone. Its Bun and the `node` beside it say how they were called. */
function newProject({ marker, lockIsNewer = false }: { marker: string | null; lockIsNewer?: boolean }) {
  const root = mkdtempSync(join(folder, 'a project '));
  for (const part of ['scripts', 'programs', 'node_modules/bun/bin'])
    mkdirSync(join(root, part), { recursive: true });
  copyFileSync(join(import.meta.dir, 'start.sh'), join(root, 'scripts/start.sh'));
  writeFileSync(join(root, 'package-lock.json'), lock);
  writeFileSync(join(root, 'node_modules/.package-lock.json'), lock);
  if (marker !== null) writeFileSync(join(root, 'node_modules/.installed-lock'), marker);
  const [older, newer] = [new Date(1_000_000), new Date(2_000_000)];
  utimesSync(join(root, 'package-lock.json'), older, lockIsNewer ? newer : older);
  utimesSync(join(root, 'node_modules/.package-lock.json'), older, lockIsNewer ? older : newer);
  for (const [name, path] of [
    ['bun', 'node_modules/bun/bin/bun.exe'],
    ['node', 'programs/node'],
  ] as const) {
    writeFileSync(join(root, path), `#!/bin/sh\necho ${name} "$@"\npwd -P\n`);
    chmodSync(join(root, path), 0o755);
  }
  const start = (cwd: string, script: string) => {
    const env = { PATH: `${join(root, 'programs')}:${process.env.PATH}` };
    const { stdout, stderr } = Bun.spawnSync(['sh', script], { cwd, env });
    expect(stderr.toString()).toBe('');
    const [command, at] = stdout.toString().trim().split('\n');
    expect(at).toBe(root);
    return command;
  };
  return { root, start };
}

const atOnce = 'bun --no-env-file server/src/start.ts';
const byNode = 'node scripts/run.mjs server/src/start.ts';

test.each([
  ['that of the lock file', { marker: hashOf(lock) }, atOnce],
  ['that of another lock file', { marker: hashOf('another') }, byNode],
  ['that of another lock file, which is older', { marker: hashOf('another'), lockIsNewer: true }, byNode],
  ['interrupted while it was recorded', { marker: '' }, byNode],
  ['made by npm itself', { marker: null }, atOnce],
  ['made by npm itself, before the lock file changed', { marker: null, lockIsNewer: true }, byNode],
])('an installation that is %s starts as it should', (_, installed, expected) => {
  const { root, start } = newProject(installed);
  expect(start(root, 'scripts/start.sh')).toBe(expected);
});

test('the launcher works from any folder', () => {
  const { root, start } = newProject({ marker: hashOf(lock) });
  expect(start('/', join(root, 'scripts/start.sh'))).toBe(atOnce);
  expect(start(join(root, 'scripts'), 'start.sh')).toBe(atOnce);
});

test('Node installs where there is no Bun', () => {
  const { root, start } = newProject({ marker: hashOf(lock) });
  rmSync(join(root, 'node_modules/bun'), { recursive: true });
  expect(start(root, 'scripts/start.sh')).toBe(byNode);
});
