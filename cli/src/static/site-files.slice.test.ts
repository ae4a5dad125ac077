import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, linkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { releaseFilesMax } from '@svc/contract/site-paths.ts';
import { folderWith, newFolder, problemOf, removeFolders } from '../../testing/run-svc.ts';
import { CliError } from '../framework/errors.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { readSiteFile, type SiteFile, walkSite } from './site-files.ts';

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

  test('excludes files of tools, and includes other names with a dot', () => {
    const folder = folderWith({
      '.git/config': '',
      'node_modules/a/index.js': '',
      '.env': '',
      '.env.production': '',
      '.DS_Store': '',
      'a/Thumbs.db': '',
      'a/.index.html.swp': '',
      'a/index.html~': '',
      '#a#': '',
      '.well-known/security.txt': '',
      'a/.htaccess': '',
      '.svc/db': '',
      'a/.svc/ok': '',
      'a.env': '',
      'my-node_modules/x': '',
      environment: '',
    });
    const { files, leftOut } = walkSite(folder);
    expect(files.map(({ path }) => path)).toEqual([
      '.well-known/security.txt',
      'a.env',
      'a/.htaccess',
      'a/.svc/ok',
      'environment',
      'my-node_modules/x',
    ]);
    expect(leftOut).toEqual([
      '#a#',
      '.DS_Store',
      '.env',
      '.env.production',
      '.git',
      '.svc',
      'a/.index.html.swp',
      'a/Thumbs.db',
      'a/index.html~',
      'node_modules',
    ]);
  });

  test('excludes files that may contain secrets, in any case', () => {
    const secrets = [
      '.envrc',
      '.npmrc',
      '.netrc',
      '.htpasswd',
      '.pgpass',
      '.pypirc',
      '.git-credentials',
      '.ENV',
      '.Env.Local',
      '.Git/config',
      '.aws/credentials',
      '.ssh/id_rsa',
      'a/.hg/hgrc',
      'a/.svn/entries',
    ];
    const taken = { '.environment': '', 'a/.sshd': '', 'aws/x': '' };
    const folder = folderWith({ ...taken, ...Object.fromEntries(secrets.map((path) => [path, ''])) });
    expect(pathsOf(folder)).toEqual(Object.keys(taken));
  });

  test('treats hard links as files', () => {
    const folder = folderWith({ 'a.txt': 'same' });
    linkSync(join(folder, 'a.txt'), join(folder, 'b.txt'));
    expect(pathsOf(folder)).toEqual(['a.txt', 'b.txt']);
  });

  test('rejects all symbolic links by name: to files, folders, outside, in a loop and broken', () => {
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

  test('ignores a link whose name is excluded', () => {
    const folder = folderWith({ 'a.txt': '' });
    symlinkSync('/usr/lib/node_modules', join(folder, 'node_modules'));
    expect(pathsOf(folder)).toEqual(['a.txt']);
  });

  test('rejects pipes, sockets and devices by name, and never opens them', async () => {
    const folder = folderWith({ 'a.txt': '' });
    expect(Bun.spawnSync(['mkfifo', join(folder, 'pipe')]).exitCode).toBe(0);
    const listening = Promise.withResolvers<void>();
    const socket = createServer().listen(join(folder, 'socket'), listening.resolve);
    await listening.promise;
    const isDevice = Bun.spawnSync(['mknod', join(folder, 'device'), 'c', '1', '3']).exitCode === 0;
    expect(fieldsOf(folder)).toEqual([...(isDevice ? ['device'] : []), 'pipe', 'socket']);
    socket.close();
  });

  test('names the first twenty of many links, and prints how many there are', () => {
    const folder = newFolder();
    for (let at = 10; at < 40; at += 1) symlinkSync('x', join(folder, `link-${at}`));
    const problem = problemOf(() => walkSite(folder));
    expect([problem.errors?.length, problem.errors?.[0]?.field]).toEqual([20, 'link-10']);
    expect(problem.detail).toContain('30');
  });

  test('stops at more files than a release can have', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'a'), '');
    for (let at = 0; at < releaseFilesMax; at += 1) linkSync(join(folder, 'a'), join(folder, `f${at}`));
    expect(problemOf(() => walkSite(folder)).code).toBe('payload_too_large');
  });

  test.if(process.getuid?.() !== 0)('names a folder that cannot be read', () => {
    const folder = folderWith({ 'a/b.txt': '' });
    chmodSync(join(folder, 'a'), 0);
    expect(() => walkSite(folder)).toThrow(join(folder, 'a'));
    chmodSync(join(folder, 'a'), 0o700);
  });
});

afterAll(removeFolders);

describe('a file that is read', () => {
  const found = (text: string) => {
    const folder = folderWith({ 'a.txt': text });
    const [file] = walkSite(folder).files;
    if (file === undefined) throw new Error('No file was found.');
    return { folder, file };
  };
  const codeOf = (file: SiteFile) =>
    readSiteFile(file, () => {}).then(
      () => 'read',
      (cause: unknown) => {
        if (cause instanceof AdvisedProblemError) return cause.problem.code;
        return cause instanceof CliError ? cause.code : String(cause);
      },
    );

  test('is complete, whatever its chunks', async () => {
    const text = 'x'.repeat(2.5 * 1024 * 1024);
    const { file } = found(text);
    let read = '';
    await readSiteFile(file, (chunk) => {
      read += new TextDecoder().decode(chunk);
    });
    expect(read === text).toBe(true);
    expect(await codeOf(found('').file)).toBe('read');
  });

  test('fails by name if it was replaced, changed, removed, or became a link or a pipe', async () => {
    const replaced = found('one');
    writeFileSync(join(replaced.folder, 'new'), 'two');
    renameSync(join(replaced.folder, 'new'), replaced.file.absolutePath);
    const written = found('one');
    writeFileSync(written.file.absolutePath, 'longer');
    const removed = found('one');
    rmSync(removed.file.absolutePath);
    const linked = found('one');
    renameSync(linked.file.absolutePath, join(linked.folder, 'b.txt'));
    symlinkSync('b.txt', linked.file.absolutePath);
    const piped = found('one');
    rmSync(piped.file.absolutePath);
    expect(Bun.spawnSync(['mkfifo', piped.file.absolutePath]).exitCode).toBe(0);
    for (const { file } of [replaced, written, removed, linked, piped])
      expect(await codeOf(file)).toBe('digest_mismatch');
  });

  test.if(process.getuid?.() !== 0)('is named when it cannot be read', async () => {
    const { file } = found('secret');
    chmodSync(file.absolutePath, 0);
    expect(await codeOf(file)).toBe('file_unreadable');
  });
});
