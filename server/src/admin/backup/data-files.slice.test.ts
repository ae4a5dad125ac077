import { expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { dataFiles } from './data-files.ts';

const folder = useFolder();

const env = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ann',
  GIT_AUTHOR_EMAIL: 'ann@example.test',
  GIT_COMMITTER_NAME: 'Ann',
  GIT_COMMITTER_EMAIL: 'ann@example.test',
};
const git = (cwd: string, ...argv: string[]) =>
  execFileSync('git', argv, { cwd, env, encoding: 'utf8' }).trim();

test('a repository is copied consistently during a push, as of the time its branches were read', async () => {
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  const repository = join(from, 'git', `${Bun.randomUUIDv7()}.git`);
  mkdirSync(repository, { recursive: true });
  git(repository, 'init', '--quiet', '--bare', '--initial-branch=main');
  const tree = git(repository, 'mktree', '--missing');
  const commit = (message: string) => {
    const sha = git(repository, 'commit-tree', tree, '-m', message);
    git(repository, 'update-ref', 'refs/heads/main', sha);
    return sha;
  };
  const first = commit('first');
  writeFileSync(join(repository, 'config.lock'), 'under way');

  let pushes = 0;
  for await (const file of dataFiles(from, () => {})) {
    const path = join(to, file.path);
    if (file.kind === 'folder') mkdirSync(path, { recursive: true });
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, Buffer.concat(await Array.fromAsync(file.content)));
    }
    // A push follows each copied file.
    if (/\.git\/(HEAD|refs\/|objects\/)/.test(file.path) && pushes < 20) commit(`push ${++pushes}`);
  }
  expect(pushes).toBeGreaterThan(3);
  const copied = repository.replace(from, to);
  expect(git(copied, 'fsck', '--full', '--strict')).not.toContain('missing');
  expect(git(copied, 'cat-file', '-t', git(copied, 'rev-parse', 'main'))).toBe('commit');
  expect(git(repository, 'rev-parse', 'main')).not.toBe(first);
  expect(() => git(copied, 'config', '--file', 'config.lock', '--list')).toThrow();
});

test('what is installed, built or started again is not copied', async () => {
  const from = join(folder, 'data');
  for (const path of [
    'toolchains/node-26.12.0/package',
    'runtime/homes/app/.svc-build-cache',
    'runtime/homes/app/kept',
    'runtime/run/instance',
    'runtime/work/build',
    'runtime/artifacts/one',
    'runtime/artifacts/two',
  ])
    mkdirSync(join(from, path), { recursive: true });
  writeFileSync(join(from, 'runtime/artifacts/one.json'), '{"state":"built"}');
  writeFileSync(join(from, 'runtime/artifacts/two.json'), '{"state":"building"}');
  symlinkSync('../package/node', join(from, 'toolchains/node-26.12.0/node'));
  symlinkSync('x', join(from, 'runtime/homes/app/.svc-build-cache/vite'));
  const skipped: string[] = [];
  const copied = await Array.fromAsync(dataFiles(from, (path) => skipped.push(path)));
  expect(skipped).toEqual([]);
  expect(copied.map(({ path }) => path)).toEqual([
    'runtime',
    'runtime/artifacts',
    'runtime/artifacts/one',
    'runtime/artifacts/one.json',
    'runtime/homes',
    'runtime/homes/app',
    'runtime/homes/app/kept',
    'runtime/run',
    'runtime/work',
  ]);
});
