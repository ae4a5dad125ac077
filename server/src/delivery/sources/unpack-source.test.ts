import { describe, expect, test } from 'bun:test';
import { TarError } from '@svc/contract/tar.ts';
import { paxOf, type TestEntry, tarOf } from './testing.ts';
import { checkedTar } from './unpack-source.ts';

const limits = { filesMax: 10, bytesMax: 10_000 };

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

/** `ok`, or the error of the archive. */
async function judge(bytes: Uint8Array, size = 700): Promise<string> {
  try {
    for await (const _ of checkedTar(inPieces(bytes, size), limits));
    return 'ok';
  } catch (error) {
    if (error instanceof TarError) return error.message;
    throw error;
  }
}

const judged = (...entries: TestEntry[]) => judge(tarOf(entries));
const long = `${'d/'.repeat(80)}e.txt`;

describe('a source archive', () => {
  test.each([
    [
      'files and folders',
      [
        { name: 'a.txt', text: 'a' },
        { name: 'b/', type: '5' },
        { name: 'b/c', text: 'c' },
      ],
    ],
    [
      'names that begin with ./',
      [{ name: './', type: '5' }, { name: './a' }, { name: './b/../c'.replace('../', '') }],
    ],
    [
      'links inside',
      [
        { name: 'a/b', text: 'x' },
        { name: 'a/l', type: '2', link: '../a/b' },
        { name: 'l', type: '2', link: 'a' },
      ],
    ],
    ['links to nothing that stay inside', [{ name: 'l', type: '2', link: 'later/or/never' }]],
    [
      'links to files of it',
      [
        { name: 'a', text: 'x' },
        { name: 'b', type: '1', link: 'a' },
      ],
    ],
    ['long names by pax', [paxOf({ path: long, mtime: '1.5' }), { name: 'short', text: 'x' }]],
    [
      'long names by GNU',
      [
        { name: '././@LongLink', type: 'L', text: `${long}\0` },
        { name: 'd', text: 'x' },
      ],
    ],
    ['what git puts before all', [paxOf({ comment: 'a commit' }, 'g'), { name: 'a', text: 'x' }]],
    ['the form of GNU', [{ name: 'a', text: 'x', magic: 'ustar  \0' }]],
  ] as [string, TestEntry[]][])('may hold %s', async (_, entries) => {
    expect(await judged(...entries)).toBe('ok');
  });

  test.each([
    ['an absolute name', [{ name: '/etc/passwd' }], 'absolute'],
    ['a name with ..', [{ name: 'a/../../b' }], 'contains ..'],
    ['a name with .. that stays inside', [{ name: 'a/../b' }], 'contains ..'],
    ['an absolute name by pax', [paxOf({ path: '/etc/passwd' }), { name: 'a' }], 'absolute'],
    ['a GNU name with ..', [{ name: 'l', type: 'L', text: '../x\0' }, { name: 'a' }], 'contains ..'],
    [
      'a link by pax that leads out',
      [paxOf({ linkpath: '/etc' }), { name: 'a', type: '2', link: 'b' }],
      'leads out',
    ],
    [
      'a link by GNU that leads out',
      [
        { name: 'l', type: 'K', text: '../..\0' },
        { name: 'a', type: '2', link: 'b' },
      ],
      'leads out',
    ],
    ['an absolute link', [{ name: 'a', type: '2', link: '/etc/passwd' }], 'leads out'],
    ['a link that leads out', [{ name: 'd/a', type: '2', link: '../../x' }], 'leads out'],
    ['a link to the folder above', [{ name: 'a', type: '2', link: '..' }], 'leads out'],
    [
      'a link that goes up behind another',
      [
        { name: 'd/l', type: '2', link: '..' },
        { name: 'a', type: '2', link: 'd/l/../x' },
      ],
      'leads out',
    ],
    ['a file below a link', [{ name: 'l', type: '2', link: 'd' }, { name: 'l/a' }], 'below'],
    ['a file below a file', [{ name: 'l' }, { name: 'l/a' }], 'below'],
    ['a file with the name of a link', [{ name: 'l', type: '2', link: 'd' }, { name: 'l' }], 'twice'],
    ['a link with the name of a folder', [{ name: 'd/a' }, { name: 'd', type: '2', link: 'x' }], 'twice'],
    ['a folder with the name of a file', [{ name: 'a' }, { name: 'a', type: '5' }], 'twice'],
    ['a hard link to what is outside', [{ name: 'a', type: '1', link: '/etc/passwd' }], 'absolute'],
    ['a hard link to what is not there', [{ name: 'a', type: '1', link: 'b' }], 'does not contain'],
    [
      'a hard link to a link',
      [
        { name: 'l', type: '2', link: 'x' },
        { name: 'a', type: '1', link: 'l' },
      ],
      'does not contain',
    ],
    ['a character device', [{ name: 'a', type: '3' }], 'neither'],
    ['a block device', [{ name: 'a', type: '4' }], 'neither'],
    ['a pipe', [{ name: 'a', type: '6' }], 'neither'],
    ['a sparse file by GNU', [{ name: 'a', type: 'S' }], 'neither'],
    ['a sparse file by pax', [paxOf({ 'GNU.sparse.major': '1' }), { name: 'a' }], 'sparse'],
    ['a size by pax', [paxOf({ size: '0' }), { name: 'a', text: 'hidden' }], 'two sizes'],
    ['one name for all', [paxOf({ path: 'x' }, 'g'), { name: 'a' }], 'one name'],
    ['a folder with a content', [{ name: 'a/', type: '5', text: 'x' }], 'content'],
    ['a name with a line break', [{ name: 'a\nb' }], 'not a valid file name'],
    ['no name at all', [{ name: '' }], 'not a valid file name'],
    ['a wrong sum', [{ name: 'a', sum: 1 }], 'damaged'],
    ['another form', [{ name: 'a', magic: '\0\0\0\0\0\0' }], 'supported format'],
    ['too many files', Array.from({ length: 11 }, (_, at) => ({ name: `f${at}` })), 'more than 10 files'],
    [
      'too much',
      [
        { name: 'a', text: 'x'.repeat(6_000) },
        { name: 'b', text: 'x'.repeat(6_000) },
      ],
      'more than 10000 bytes',
    ],
  ] as [string, TestEntry[], string][])('must not contain %s', async (_, entries, why) => {
    expect(await judged(...entries)).toContain(why);
  });

  test('with a size of terabytes is rejected before its content is read', async () => {
    const whole = tarOf([{ name: 'a', size: 0o77777777777 }], { end: false });
    expect(await judge(whole)).toContain('more than');
  });

  test('that is cut off anywhere is rejected', async () => {
    const whole = tarOf([paxOf({ path: 'b' }), { name: 'a', text: 'x'.repeat(600) }], { end: false });
    for (const length of [0, 100, 512, 700, 1024, 1536, 2000])
      expect([length, await judge(whole.subarray(0, length))]).toEqual([
        length,
        'The archive is incomplete.',
      ]);
  });

  test('is passed on unchanged in any chunks, without the bytes after its end', async () => {
    const entries = [
      { name: 'a', text: 'x'.repeat(1_000) },
      { name: 'b/c', text: 'y' },
    ];
    const whole = tarOf(entries);
    for (const size of [1, 511, 512, 513, 100_000]) {
      const passed: Uint8Array[] = [];
      const after = Buffer.concat([whole, tarOf([{ name: '/etc/passwd' }])]);
      for await (const piece of checkedTar(inPieces(after, size), limits)) passed.push(piece);
      expect(Buffer.concat(passed).equals(whole)).toBe(true);
    }
  });
});
