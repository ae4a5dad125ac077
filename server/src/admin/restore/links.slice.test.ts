import { afterAll, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tarBytes } from '../backup/archive.ts';
import type { FileEntry } from '../backup/data-files.ts';
import { admin, installations } from '../testing.ts';
import { readBackup, readWhole } from './verify-backup.ts';

const { folder, installation, remove } = installations();
afterAll(remove);

async function newSource() {
  const source = await installation();
  await source.run(['tenants', 'create', 'ours']);
  return source;
}

test('links, hard links and modes are restored; what is left out is said by the backup and the restore', async () => {
  const source = await newSource();
  const build = 'runtime/artifacts/0198c1f2-0000-7000-8000-000000000001';
  const files = [
    `${build}/node_modules/tool/cli.js`,
    `${build}/sealed/a\\b`,
    'git/one.git/refs/heads/main',
    'git/one.git/HEAD.lock',
    'runtime/run/of-an-instance',
    'runtime/work/of-a-build',
    'blobs/ab/one',
  ];
  for (const path of files) {
    mkdirSync(dirname(join(source.dataDir, path)), { recursive: true });
    writeFileSync(join(source.dataDir, path), path);
  }
  for (const folder of ['node_modules/.bin', '.venv/bin', 'store'])
    mkdirSync(join(source.dataDir, build, folder), { recursive: true });
  const links: Record<string, string> = {
    [`${build}/node_modules/.bin/tool`]: '../tool/cli.js',
    [`${build}/node_modules/linked`]: `../store/${'long'.repeat(40)}`,
    [`${build}/.venv/bin/python`]: '/usr/bin/python3',
    'blobs/here': 'ab/one',
    'blobs/ab/up': '../here',
  };
  const leftOut: Record<string, string> = {
    'blobs/out': '/etc/passwd',
    'blobs/ab/away': '../../git/one.git',
    'blobs/around': 'ab/../../postgres',
  };
  for (const [path, target] of Object.entries({ ...links, ...leftOut }))
    symlinkSync(target, join(source.dataDir, path));
  linkSync(
    join(source.dataDir, build, 'node_modules/tool/cli.js'),
    join(source.dataDir, build, 'store/cli.js'),
  );
  Bun.spawnSync(['mkfifo', join(source.dataDir, 'blobs/pipe')]);
  chmodSync(join(source.dataDir, build, 'node_modules/tool/cli.js'), 0o775);
  chmodSync(join(source.dataDir, build, 'sealed'), 0o555);
  chmodSync(join(source.dataDir, build, 'store'), 0o2775);

  const file = join(folder, 'links.tar.gz');
  const made = await admin(source.env, ['backup', '--to', file]);
  const expected = [
    'blobs/ab/away in the data dir (a link to ../../git/one.git, outside of its folder)',
    'blobs/around in the data dir (a link to ab/../../postgres, outside of its folder)',
    'blobs/out in the data dir (a link to /etc/passwd, outside of its folder)',
    'blobs/pipe in the data dir (not a file)',
  ];
  expect([made.exit, made.json.left_out]).toEqual([0, expected]);
  const listed = spawnSync('tar', ['-tzvf', file], { encoding: 'utf8' }).stdout;
  expect(listed).toContain('node_modules/.bin/tool -> ../tool/cli.js');
  expect(listed).toContain(`store/cli.js link to files/${build}/node_modules/tool/cli.js`);

  const target = await installation();
  const restored = await admin(target.env, ['restore', '--from', file]);
  expect([restored.exit, restored.json.left_out]).toEqual([0, expected]);
  const at = (path: string) => join(target.dataDir, path);
  for (const [path, text] of Object.entries(links)) expect(readlinkSync(at(path))).toBe(text);
  const isLeft = (path: string) => /\.lock$|^runtime\/(?:run|work)\//.test(path);
  for (const path of files)
    if (isLeft(path)) expect([path, existsSync(at(path))]).toEqual([path, false]);
    else expect(readFileSync(at(path), 'utf8')).toBe(path);
  for (const path of Object.keys(leftOut))
    expect(lstatSync(at(path), { throwIfNoEntry: false })).toBeUndefined();
  const mode = (path: string) => (statSync(at(`${build}/${path}`)).mode & 0o777).toString(8);
  expect([mode('node_modules/tool/cli.js'), mode('sealed'), mode('store')]).toEqual(['775', '555', '775']);
  const ino = (path: string) => statSync(at(`${build}/${path}`)).ino;
  expect(ino('store/cli.js')).toBe(ino('node_modules/tool/cli.js'));
});

test('nothing is written through a link, and no link of the platform leaves its folder', async () => {
  const file = await (await newSource()).backup();
  const target = await installation();
  const outside = join(folder, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'secret');
  const entry = (path: string, kind: FileEntry['kind'], target?: string): FileEntry => ({
    path: `files/${path}`,
    kind,
    ...(target !== undefined && { target }),
    mode: 0o644,
    modified: new Date(),
    size: kind === 'file' ? 1 : 0,
    content: kind === 'file' ? [Buffer.from('x')] : [],
  });
  const app = 'runtime/artifacts/one';
  const crafted: [string, FileEntry[]][] = [
    ['written through a link', [entry(`${app}/a`, 'link', outside), entry(`${app}/a/b`, 'file')]],
    ['written through a link', [entry(`${app}/a`, 'link', outside), entry(`${app}/a/b/c`, 'folder')]],
    ['written through a link', [entry(`${app}/a`, 'link', outside), entry(`${app}/a`, 'folder')]],
    ['written through a link', [entry(`${app}/a`, 'link', join(outside, 'new')), entry(`${app}/a`, 'file')]],
    ['out of its folder', [entry('blobs/a', 'link', outside)]],
    ['out of its folder', [entry('blobs/a', 'link', '../audit-anchors.jsonl')]],
    ['out of its folder', [entry('top', 'link', outside)]],
    ['out of its folder', [entry(app, 'link', outside)]],
    [
      'out of its folder',
      [entry(`${app}/a`, 'link', outside), entry(`${app}/b`, 'hard_link', `files/${app}/a/secret`)],
    ],
    ['out of its folder', [entry('keys', 'file'), entry(`${app}/b`, 'hard_link', 'files/keys')]],
    ['not a valid path', [entry(`${app}/b`, 'hard_link', join(outside, 'secret'))]],
    ['not a valid path', [entry(`${app}/b`, 'hard_link', 'files/../../outside/secret')]],
  ];
  for (const [reason, entries] of crafted) {
    async function* all(): AsyncGenerator<FileEntry> {
      yield* entries;
      for await (const each of readBackup({ file, identities: [] })) yield each;
    }
    const archive = join(folder, 'crafted.tar.gz');
    writeFileSync(archive, gzipSync(await readWhole(tarBytes(all()))));
    const { exit, err } = await admin(target.env, ['restore', '--from', archive]);
    const shown = entries.map(({ path, kind }) => `${kind} ${path}`).join(', ');
    expect([shown, exit, err]).toEqual([shown, 7, expect.stringContaining(reason)]);
    expect([shown, readdirSync(outside), readdirSync(target.dataDir)]).toEqual([shown, ['secret'], []]);
  }
});
