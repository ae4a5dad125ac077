import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { walkTree } from '../process/trees.ts';

interface SourceArchive {
  bytes: ReadableStream<Uint8Array>;
  close(): Promise<void>;
}

export interface BuildContext {
  folder: string;
  as: string;
  always: readonly string[];
  generated: Readonly<Record<string, string>>;
}

export async function archiveSource(
  { folder, as, always, generated }: BuildContext,
  scratchDir: string,
): Promise<SourceArchive> {
  const scratch = await mkdtemp(join(scratchDir, 'context-'));
  for (const [name, text] of Object.entries(generated)) await writeFile(join(scratch, name), text);
  const list = join(scratch, '.list');
  const names = await listNames(folder, always);
  await writeFile(list, names.map((name) => `./${name}\0`).join(''));
  const prefix = as === '.' ? [] : [`--transform=flags=rSh;s,^\\./,${as}/,`];
  const packed = runTarCreate([
    '--no-recursion',
    '--no-acls',
    '--no-selinux',
    '--no-xattrs',
    ...prefix,
    ...Object.keys(generated).flatMap((name) => ['-C', scratch, name]),
    '-C',
    folder,
    '--null',
    '--verbatim-files-from',
    `--files-from=${list}`,
  ]);
  return {
    bytes: packed.bytes,
    async close() {
      await packed.close();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

/** The stream fails if tar fails; otherwise the engine would build from an incomplete source. */
export function runTarCreate(words: readonly string[]): SourceArchive {
  const program = Bun.spawn(
    ['tar', '--create', '--file=-', '--format=pax', '--numeric-owner', '--owner=0', '--group=0', ...words],
    {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const stderr = new Response(program.stderr).text();
  const reader = program.stdout.getReader();
  const bytes = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (value) controller.enqueue(value);
      if (!done) return;
      if ((await program.exited) === 0) controller.close();
      else controller.error(new Error(`The source could not be packed: ${(await stderr).slice(0, 500)}`));
    },
  });
  return {
    bytes,
    async close() {
      program.kill('SIGKILL');
      await program.exited;
      await stderr;
    },
  };
}

async function listNames(folder: string, always: readonly string[]): Promise<string[]> {
  const ignoreFile = join(folder, '.dockerignore');
  const isIgnored = existsSync(ignoreFile)
    ? parseDockerIgnore(await Bun.file(ignoreFile).text())
    : () => false;
  const names: string[] = [];
  for await (const { path, entry } of walkTree(folder)) {
    const name = relative(folder, path);
    if (name === '.git' || name.startsWith('.git/')) continue;
    const isSupported = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    if (isSupported && (always.includes(name) || !isIgnored(name))) names.push(name);
  }
  // Sorted, so that the same source gives the same archive and the engine can use its cache.
  return names.sort();
}

export function parseDockerIgnore(text: string): (path: string) => boolean {
  const rules = text
    .split(/\r?\n/)
    .map((line) => line.replace(/^\ufeff/, ''))
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && line !== '!')
    .map((line) => {
      const isException = line.startsWith('!');
      const pattern = isException ? line.slice(1).trim() : line;
      return { isException, pattern: toRegExp(normalizePattern(pattern)) };
    });
  return (path) => {
    let isIgnored = false;
    for (const { isException, pattern } of rules) {
      if (isIgnored === isException && pattern.test(path)) isIgnored = !isException;
    }
    return isIgnored;
  };
}

function normalizePattern(pattern: string): string {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return parts.join('/');
}

function toRegExp(pattern: string): RegExp {
  let text = '';
  for (let at = 0; at < pattern.length; at++) {
    const sign = pattern.charAt(at);
    if (sign === '*' && pattern[at + 1] === '*') {
      at++;
      if (pattern[at + 1] === '/') {
        at++;
        text += '(?:.*/)?';
      } else text += '.*';
    } else if (sign === '*') text += '[^/]*';
    else if (sign === '?') text += '[^/]';
    else if (sign === '[' && pattern.indexOf(']', at + 1) > at + 1) {
      const end = pattern.indexOf(']', at + 1);
      text += `[${pattern.slice(at + 1, end).replace(/[[\\]/g, '\\$&')}]`;
      at = end;
    } else if (sign === '\\' && at + 1 < pattern.length) text += escapeRegExp(pattern.charAt(++at));
    else text += escapeRegExp(sign);
  }
  try {
    return new RegExp(`^${text}(?:/.*)?$`, 's');
  } catch {
    return /(?!)/;
  }
}

const escapeRegExp = (sign: string) => sign.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
