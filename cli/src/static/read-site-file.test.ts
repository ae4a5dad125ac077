import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderWith } from '../../testing/folder-with.ts';
import { removeFolders } from '../../testing/run-svc.ts';
import { AdvisedProblem, CliError } from '../errors.ts';
import { readSiteFile } from './read-site-file.ts';
import { type SiteFile, walkSite } from './walk-site.ts';

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
        if (cause instanceof AdvisedProblem) return cause.problem.code;
        return cause instanceof CliError ? cause.code : String(cause);
      },
    );

  test('comes whole, however many pieces it has', async () => {
    const text = 'x'.repeat(2.5 * 1024 * 1024);
    const { file } = found(text);
    let read = '';
    await readSiteFile(file, (chunk) => {
      read += new TextDecoder().decode(chunk);
    });
    expect(read === text).toBe(true);
    expect(await codeOf(found('').file)).toBe('read');
  });

  test('is refused by name when it was replaced, written to, removed, or made a link or a pipe', async () => {
    const replaced = found('one');
    writeFileSync(join(replaced.folder, 'new'), 'two');
    renameSync(join(replaced.folder, 'new'), replaced.file.place);
    const written = found('one');
    writeFileSync(written.file.place, 'longer');
    const removed = found('one');
    rmSync(removed.file.place);
    const linked = found('one');
    renameSync(linked.file.place, join(linked.folder, 'b.txt'));
    symlinkSync('b.txt', linked.file.place);
    const piped = found('one');
    rmSync(piped.file.place);
    expect(Bun.spawnSync(['mkfifo', piped.file.place]).exitCode).toBe(0);
    for (const { file } of [replaced, written, removed, linked, piped])
      expect(await codeOf(file)).toBe('digest_mismatch');
  });

  test.if(process.getuid?.() !== 0)('is told by its name when it can not be read', async () => {
    const { file } = found('secret');
    chmodSync(file.place, 0);
    expect(await codeOf(file)).toBe('file_unreadable');
  });
});
