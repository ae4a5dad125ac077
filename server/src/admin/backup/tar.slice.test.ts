import { expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readWhole } from '../restore/verify-backup.ts';
import { tarBytes } from './archive.ts';
import type { FileEntry } from './data-files.ts';
import { readTar } from './tar-reader.ts';

type Small = { path: string; content: Uint8Array };

async function* entriesOf(files: readonly Small[]): AsyncGenerator<FileEntry> {
  for (const { path, content } of files) {
    yield {
      path,
      kind: 'file',
      mode: 0o640,
      modified: new Date(1e12),
      size: content.length,
      content: [content],
    };
  }
}

async function* chunked(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const written = async (files: readonly Small[]) => readWhole(tarBytes(entriesOf(files)));

async function read(bytes: Uint8Array, chunk: number): Promise<Small[]> {
  const found: Small[] = [];
  for await (const entry of readTar(chunked(bytes, chunk))) {
    found.push({ path: entry.path, content: new Uint8Array(await readWhole(entry.content)) });
  }
  return found;
}

const segment = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 60 })
  .map((text) => text.replaceAll(/[/\0]/g, '_'));
const small = fc.record({
  path: fc.array(segment, { minLength: 1, maxLength: 8 }).map((parts) => parts.join('/')),
  content: fc.uint8Array({ maxLength: 2000 }),
});

test('files of any name, size and chunking survive a round trip', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(small, { maxLength: 5 }),
      fc.integer({ min: 1, max: 3000 }),
      async (files, chunk) => {
        expect(await read(await written(files), chunk)).toEqual(files);
      },
    ),
    { numRuns: 60 },
  );
});

test('an archive truncated anywhere is refused', async () => {
  const files = [
    { path: 'a', content: new Uint8Array(700) },
    { path: 'b'.repeat(150), content: new Uint8Array(5) },
  ];
  const bytes = await written(files);
  const whole = bytes.length - 1024;
  for (let length = 1; length < whole; length += 97) {
    const outcome = await read(bytes.subarray(0, length), 512).catch((error) => error.code);
    expect([length, outcome]).toEqual([length, 'validation_failed']);
  }
});

test('the tar program reads the archive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tar-'));
  const files = [
    { path: 'plain.txt', content: Buffer.from('hello') },
    { path: `${'long/'.repeat(40)}ünï "quoted".txt`, content: Buffer.alloc(1025, 'x') },
  ];
  writeFileSync(join(folder, 'a.tar'), await written(files));
  const listed = spawnSync('tar', ['--quoting-style=literal', '-tf', join(folder, 'a.tar')], {
    encoding: 'utf8',
  });
  expect(listed.stdout.trimEnd().split('\n')).toEqual(files.map((file) => file.path));
  rmSync(folder, { recursive: true });
});

test('a file that shrinks while it is read is an error', async () => {
  async function* entry(): AsyncGenerator<FileEntry> {
    yield {
      path: 'a',
      kind: 'file',
      mode: 0o600,
      modified: new Date(),
      size: 10,
      content: [new Uint8Array(9)],
    };
  }
  expect(readWhole(tarBytes(entry()))).rejects.toThrow('changed while it was read');
});
