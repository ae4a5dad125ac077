import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../drivers/database/testing.ts';
import { createGitProcesses } from './git-processes.ts';

const canIsolate = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-user', 'true']).status === 0;

test.skipIf(!canIsolate)('git for one repository sees no other repository and no network', async () => {
  const git = createGitProcesses();
  const { path: root, remove } = temporaryFolder();
  const [own, other] = ['own.git', 'other.git'].map((name) => join(root, name)) as [string, string];
  for (const folder of [own, other]) {
    mkdirSync(folder);
    expect(await git.read(folder, ['init', '--quiet', '--bare', folder])).not.toBeNull();
  }
  const id = (await git.read(other, ['hash-object', '-w', '--stdin'], { input: 'secret' }))!
    .toString()
    .trim();
  expect((await git.read(other, ['cat-file', '-p', id]))?.toString()).toBe('secret');
  mkdirSync(join(own, 'objects/info'), { recursive: true });
  writeFileSync(join(own, 'objects/info/alternates'), `${other}/objects\n`);
  expect(await git.read(own, ['cat-file', '-p', id])).toBeNull();
  const show = (command: string) => git.read(own, ['-c', `alias.x=!${command}`, 'x']);
  expect((await show(`ls ${root}`))?.toString()).toBe('own.git\n');
  expect((await show('cat /proc/net/dev'))?.toString()).not.toMatch(/eth|en[ops]\d/);
  expect((await show('id -u'))?.toString()).toBe('1000\n');
  expect((await show('ulimit -d'))?.toString()).toBe(`${2 * 1024 * 1024}\n`);
  await remove();
});
