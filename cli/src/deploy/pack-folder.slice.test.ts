import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderWith, removeFolders } from '../../testing/run-svc.ts';
import { AdvisedProblemError } from '../session/problems.ts';
import { tarChunks } from './pack-folder.ts';
import { walkSource } from './walk-source.ts';

afterAll(removeFolders);

const paths = (files: Record<string, string>) =>
  walkSource(folderWith(files)).entries.map(({ path }) => path);
const codeOf = (work: () => unknown) => {
  try {
    work();
    return 'done';
  } catch (error) {
    return error instanceof AdvisedProblemError ? error.problem.code : String(error);
  }
};

describe('the source in a folder', () => {
  test('contains every file except those that are never uploaded', () => {
    const folder = folderWith({
      'a.js': '',
      '.npmrc': '',
      '.env': 's',
      '.env.local': 's',
      '.env.example': 'x',
      'b/.env.schema': 'x',
      'b/.env.production': 's',
      '.git/config': '',
      'node_modules/x/y.js': '',
      'b/node_modules/z.js': '',
      'b/c.js': '',
    });
    const { entries, leftOut } = walkSource(folder);
    expect(entries.map(({ path }) => path)).toEqual([
      '.env.example',
      '.npmrc',
      'a.js',
      'b/.env.schema',
      'b/c.js',
    ]);
    expect(leftOut).toEqual([
      '.env',
      '.env.local',
      '.git',
      'b/.env.production',
      'b/node_modules',
      'node_modules',
    ]);
  });

  test('excludes what .gitignore and .svcignore of each folder exclude below it', () => {
    expect(
      paths({
        '.gitignore': '*.log\n/dist\n!keep.log\n',
        '.svcignore': 'docs/\n',
        'a.log': '',
        'keep.log': '',
        'dist/x': '',
        'sub/dist/x': '',
        'docs/x': '',
        'sub/b.log': '',
        'sub/.gitignore': 'own.txt\n',
        'sub/own.txt': '',
        'own.txt': '',
        'sub/deep/own.txt': '',
      }),
    ).toEqual(['.gitignore', '.svcignore', 'keep.log', 'own.txt', 'sub/.gitignore', 'sub/dist/x']);
  });

  test('with .dockerignore contains the files of the image and of the build', () => {
    expect(
      paths({
        '.dockerignore':
          '# all that is not needed\nDockerfile\n.dockerignore\nsvc.yaml\ncompose.yaml\n./tmp\n**/*.md\n!README.md\nlog\n',
        Dockerfile: '',
        'svc.yaml': '',
        'compose.yaml': '',
        'tmp/x': '',
        'sub/tmp/x': '',
        'a.md': '',
        'sub/b.md': '',
        'README.md': '',
        'log/x': '',
        'sub/log/x': '',
      }),
    ).toEqual([
      '.dockerignore',
      'Dockerfile',
      'README.md',
      'compose.yaml',
      'sub/log/x',
      'sub/tmp/x',
      'svc.yaml',
    ]);
  });

  test('never contains files that .gitignore or .svcignore exclude, even if the build reads them', () => {
    expect(
      paths({
        '.gitignore': 'compose.override.yml\nDockerfile.local\n',
        '.svcignore': 'Dockerfile\n',
        'compose.override.yml': 's',
        'Dockerfile.local': 's',
        Dockerfile: '',
        'compose.yml': '',
      }),
    ).toEqual(['.gitignore', '.svcignore', 'compose.yml']);
  });

  test('follows the nearest file of each kind; each kind can exclude a file', () => {
    expect(
      paths({
        '.gitignore': '*.log\n',
        '.svcignore': '*.pem\n',
        'a.log': '',
        'a.pem': '',
        'sub/.gitignore': '!keep.log\n!keep.pem\n',
        'sub/keep.log': '',
        'sub/b.log': '',
        'sub/keep.pem': '',
      }),
    ).toEqual(['.gitignore', '.svcignore', 'sub/.gitignore', 'sub/keep.log']);
  });

  test('contains what svc.yaml names for the build, even if .dockerignore excludes it', () => {
    const folder = folderWith({
      '.dockerignore': 'deploy\n*.Dockerfile\n',
      'a.Dockerfile': '',
      'b.Dockerfile': '',
    });
    const { entries } = walkSource(folder, { named: ['b.Dockerfile'] });
    expect(entries.map(({ path }) => path)).toEqual(['.dockerignore', 'b.Dockerfile']);
  });

  test('may contain links that stay inside, and no others', () => {
    const folder = folderWith({ 'a/b.txt': 'b', 'c.txt': 'c' });
    symlinkSync('../c.txt', join(folder, 'a/in'));
    symlinkSync('a', join(folder, 'folder'));
    expect(walkSource(folder).entries.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'file a/b.txt',
      'link a/in',
      'file c.txt',
      'link folder',
    ]);
    for (const target of ['/etc/passwd', '../x', '..', 'a/../../x', 'folder/../x', 'a\nb']) {
      symlinkSync(target, join(folder, 'out'));
      expect([target, codeOf(() => walkSource(folder))]).toEqual([target, 'invalid_path']);
      rmSync(join(folder, 'out'));
    }
  });
});

describe('the archive', () => {
  test('can be read by tar, with names of any length and script, links and executable files', async () => {
    const long = `${'deep/'.repeat(40)}end.txt`;
    const folder = folderWith({
      'run.sh': '#!/bin/sh\necho ran\n',
      'é ü.txt': 'letters',
      [long]: 'long',
      empty: '',
    });
    chmodSync(join(folder, 'run.sh'), 0o755);
    symlinkSync(long, join(folder, 'link'));
    writeFileSync(join(folder, 'large'), Buffer.alloc(700_000, 7));
    const into = mkdtempSync(join(tmpdir(), 'svc-untar-'));
    const pieces: Uint8Array[] = [];
    for await (const piece of tarChunks(walkSource(folder).entries)) pieces.push(piece);
    const tar = Bun.spawn(['tar', '-x', '-C', into], {
      stdin: new Blob([Buffer.concat(pieces)]),
      stderr: 'pipe',
    });
    expect([await tar.exited, await new Response(tar.stderr).text()]).toEqual([0, '']);
    const same = Bun.spawn(['diff', '-r', '--no-dereference', folder, into], { stdout: 'pipe' });
    expect([await same.exited, await new Response(same.stdout).text()]).toEqual([0, '']);
    expect(await new Response(Bun.spawn([join(into, 'run.sh')]).stdout).text()).toBe('ran\n');
    rmSync(into, { recursive: true });
  });

  test('is the same for the same files', async () => {
    const sum = async () => {
      const hash = new Bun.CryptoHasher('sha256');
      for await (const piece of tarChunks(walkSource(folderWith({ a: 'a', 'b/c': 'c' })).entries))
        hash.update(piece);
      return hash.digest('hex');
    };
    expect(await sum()).toBe(await sum());
  });

  test('is not created if a file changes meanwhile', async () => {
    const folder = folderWith({ a: 'before' });
    const { entries } = walkSource(folder);
    writeFileSync(join(folder, 'a'), 'another length');
    const read = async () => {
      for await (const _ of tarChunks(entries));
    };
    expect(read()).rejects.toThrow('changed');
  });
});
