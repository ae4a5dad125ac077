import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, linkSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { releaseFilesMax } from '@svc/contract/site-paths.ts';
import { folderWith, problemOf } from '../../testing/folder-with.ts';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import { walkSite } from './walk-site.ts';

afterAll(removeFolders);

const pathsOf = (folder: string) => walkSite(folder).files.map(({ path }) => path);
const fieldsOf = (folder: string) => problemOf(() => walkSite(folder)).errors?.map(({ field }) => field);

describe('a walk', () => {
  test('finds every file below, in the order of their paths, with slashes', () => {
    const folder = folderWith({ 'b.txt': 'b', 'a/z.txt': 'z', 'a/b/c.txt': '', 'index.html': '<p>' });
    const { files, leftOut } = walkSite(folder);
    expect(files.map(({ path, size }) => [path, size])).toEqual([
      ['a/b/c.txt', 0],
      ['a/z.txt', 1],
      ['b.txt', 1],
      ['index.html', 3],
    ]);
    expect(leftOut).toEqual([]);
  });

  test('leaves out what tools keep for themselves, and takes other names with a dot', () => {
    const folder = folderWith({
      ...{ '.git/config': '', 'node_modules/a/index.js': '', '.env': '', '.env.production': '' },
      ...{ '.DS_Store': '', 'a/Thumbs.db': '', 'a/.index.html.swp': '', 'a/index.html~': '', '#a#': '' },
      ...{ '.well-known/security.txt': '', 'a/.htaccess': '', '.svc/db': '', 'a/.svc/ok': '', 'a.env': '' },
      ...{ 'my-node_modules/x': '', environment: '' },
    });
    const { files, leftOut } = walkSite(folder);
    expect(files.map(({ path }) => path)).toEqual([
      ...['.well-known/security.txt', 'a.env', 'a/.htaccess', 'a/.svc/ok', 'environment'],
      'my-node_modules/x',
    ]);
    expect(leftOut).toEqual([
      ...['#a#', '.DS_Store', '.env', '.env.production', '.git', '.svc', 'a/.index.html.swp'],
      ...['a/Thumbs.db', 'a/index.html~', 'node_modules'],
    ]);
  });

  test('leaves out what may hold secrets, in whatever case it is written', () => {
    const secrets = [
      ...['.envrc', '.npmrc', '.netrc', '.htpasswd', '.pgpass', '.pypirc', '.git-credentials', '.ENV'],
      ...['.Env.Local', '.Git/config', '.aws/credentials', '.ssh/id_rsa', 'a/.hg/hgrc', 'a/.svn/entries'],
    ];
    const taken = { '.environment': '', 'a/.sshd': '', 'aws/x': '' };
    const folder = folderWith({ ...taken, ...Object.fromEntries(secrets.map((path) => [path, ''])) });
    expect(pathsOf(folder)).toEqual(Object.keys(taken));
  });

  test('takes hard links for the files they are', () => {
    const folder = folderWith({ 'a.txt': 'same' });
    linkSync(join(folder, 'a.txt'), join(folder, 'b.txt'));
    expect(pathsOf(folder)).toEqual(['a.txt', 'b.txt']);
  });

  test('refuses links to files, to folders, outward, around and to nothing, all by name', () => {
    const folder = folderWith({ 'a/b.txt': 'b' });
    symlinkSync('b.txt', join(folder, 'a/to-file'));
    symlinkSync('a', join(folder, 'to-folder'));
    symlinkSync('/etc/hostname', join(folder, 'outward'));
    symlinkSync('.', join(folder, 'a/around'));
    symlinkSync('nothing', join(folder, 'dangling'));
    const problem = problemOf(() => walkSite(folder));
    expect([problem.code, problem.status]).toEqual(['invalid_path', 422]);
    expect(problem.errors?.map(({ field, detail }) => `${field} ${detail}`)).toEqual([
      ...['a/around', 'a/to-file', 'dangling', 'outward', 'to-folder'].map(
        (it) => `${it} is a symbolic link`,
      ),
    ]);
  });

  test('passes over a link by a name that is left out anyway', () => {
    const folder = folderWith({ 'a.txt': '' });
    symlinkSync('/usr/lib/node_modules', join(folder, 'node_modules'));
    expect(pathsOf(folder)).toEqual(['a.txt']);
  });

  test('refuses pipes, sockets and devices by name, and never opens them', async () => {
    const folder = folderWith({ 'a.txt': '' });
    expect(Bun.spawnSync(['mkfifo', join(folder, 'pipe')]).exitCode).toBe(0);
    const listening = Promise.withResolvers<void>();
    const socket = createServer().listen(join(folder, 'socket'), listening.resolve);
    await listening.promise;
    const isDevice = Bun.spawnSync(['mknod', join(folder, 'device'), 'c', '1', '3']).exitCode === 0;
    expect(fieldsOf(folder)).toEqual([...(isDevice ? ['device'] : []), 'pipe', 'socket']);
    socket.close();
  });

  test('names the first twenty of many links, and says how many there are', () => {
    const folder = newFolder();
    for (let at = 10; at < 40; at += 1) symlinkSync('x', join(folder, `link-${at}`));
    const problem = problemOf(() => walkSite(folder));
    expect([problem.errors?.length, problem.errors?.[0]?.field]).toEqual([20, 'link-10']);
    expect(problem.detail).toContain('30');
  });

  test('stops at more files than a release can hold', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a'), '');
    for (let at = 0; at < releaseFilesMax; at += 1) linkSync(join(folder, 'a'), join(folder, `f${at}`));
    expect(problemOf(() => walkSite(folder)).code).toBe('payload_too_large');
  });

  test.if(process.getuid?.() !== 0)('tells a folder that can not be read by its name', () => {
    const folder = folderWith({ 'a/b.txt': '' });
    chmodSync(join(folder, 'a'), 0);
    expect(() => walkSite(folder)).toThrow(join(folder, 'a'));
    chmodSync(join(folder, 'a'), 0o700);
  });
});
