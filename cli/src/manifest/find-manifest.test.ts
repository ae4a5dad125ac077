import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import { CliError } from '../framework/errors.ts';
import { findManifest } from './defaults.ts';

afterAll(removeFolders);

/** A folder with `a/b/c` below it, and files at the given paths. */
function tree(...files: string[]) {
  const root = newFolder();
  mkdirSync(join(root, 'a/b/c'), { recursive: true });
  for (const file of files) {
    if (file.endsWith('/')) mkdirSync(join(root, file), { recursive: true });
    else writeFileSync(join(root, file), '');
  }
  const find = async (from: string, home?: string) => {
    const found = await findManifest({ cwd: join(root, from), home: home && join(root, home) });
    return found === null ? null : found.slice(root.length + 1);
  };
  return { root, find };
}

describe('svc.yaml is found', () => {
  test('in the current folder, or in the nearest parent', async () => {
    const { find } = tree('a/svc.yaml', 'a/b/svc.yml');
    expect(await find('a')).toBe('a/svc.yaml');
    expect(await find('a/b')).toBe('a/b/svc.yml');
    expect(await find('a/b/c')).toBe('a/b/svc.yml');
  });

  test('not above the root of the repository, in a clone or a worktree', async () => {
    for (const mark of ['a/b/.git/', 'a/b/.git']) {
      const { find } = tree('a/svc.yaml', mark);
      expect([mark, await find('a/b/c')]).toEqual([mark, null]);
      expect(await find('a')).toBe('a/svc.yaml');
    }
    expect(await tree('a/b/svc.yaml', 'a/b/.git/').find('a/b/c')).toBe('a/b/svc.yaml');
  });

  test('in the home folder only if that is the current folder', async () => {
    const { find } = tree('a/svc.yaml');
    expect(await find('a/b', 'a')).toBeNull();
    expect(await find('a/b', 'a/')).toBeNull();
    expect(await find('a', 'a')).toBe('a/svc.yaml');
  });

  test('not in a parent folder that everybody can write to', async () => {
    const { root, find } = tree('a/svc.yaml', 'svc.yaml');
    chmodSync(join(root, 'a'), 0o777);
    expect(await find('a/b/c')).toBeNull();
    expect(await find('a')).toBe('a/svc.yaml');
  });

  test('nowhere if there is none', async () => {
    expect(await tree().find('a/b/c')).toBeNull();
    expect(await findManifest({ cwd: '/nonexistent/a', home: undefined })).toBeNull();
    expect(await findManifest({ cwd: '/', home: undefined })).toBeNull();
  });

  test('not above a broken link, which the error names', async () => {
    const { root, find } = tree('svc.yaml', 'a/svc.ymml');
    symlinkSync('/no/such/file', join(root, 'a/svc.yml'));
    const error = await find('a/b').catch((cause) => cause);
    expect([error.code, error.message]).toEqual(['file_unreadable', `${root}/a/svc.yml is a dangling link.`]);
    writeFileSync(join(root, 'a/b/real.yaml'), '');
    symlinkSync('real.yaml', join(root, 'a/b/svc.yaml'));
    expect(await find('a/b/c')).toBe('a/b/svc.yaml');
  });

  test('only once: two spellings in one folder are an error', async () => {
    const { find } = tree('a/svc.yaml', 'a/svc.yml');
    const error = await find('a/b').catch((cause) => cause);
    expect(error).toBeInstanceOf(CliError);
    expect(error.code).toBe('usage');
  });
});
