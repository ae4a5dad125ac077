import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { walkTree } from '../process/walk-tree.ts';
import { parseDockerIgnore } from './docker-ignore.ts';

export interface SourceArchive {
  bytes: ReadableStream<Uint8Array>;
  close(): Promise<void>;
}

/** What is sent to the engine: a folder of the app's source under a name, and beside it files of ours. */
export interface Context {
  folder: string;
  /** `.`: the folder is the context itself. */
  as: string;
  /** Below the folder; goes along whatever `.dockerignore` says. */
  always: readonly string[];
  beside: Readonly<Record<string, string>>;
}

/** By the machine's tar, of a list of names: it goes by none of its own accord. */
export async function archiveSource(
  { folder, as, always, beside }: Context,
  scratchDir: string,
): Promise<SourceArchive> {
  const scratch = await mkdtemp(join(scratchDir, 'context-'));
  for (const [name, text] of Object.entries(beside)) await writeFile(join(scratch, name), text);
  const list = join(scratch, '.list');
  const names = await namesIn(folder, always);
  await writeFile(list, names.map((name) => `./${name}\0`).join(''));
  const prefix = as === '.' ? [] : [`--transform=flags=rSh;s,^\\./,${as}/,`];
  const packed = packedBy([
    ...['--no-recursion', '--no-acls', '--no-selinux', '--no-xattrs', ...prefix],
    ...Object.keys(beside).flatMap((name) => ['-C', scratch, name]),
    ...['-C', folder, '--null', '--verbatim-files-from', `--files-from=${list}`],
  ]);
  return {
    bytes: packed.bytes,
    async close() {
      await packed.close();
      await rm(scratch, { recursive: true, force: true });
    },
  };
}

/** An archive that tar did not finish well breaks off: else the engine would build from a part of the source. */
export function packedBy(words: readonly string[]): SourceArchive {
  const program = Bun.spawn(
    ['tar', '--create', '--file=-', '--format=pax', '--numeric-owner', '--owner=0', '--group=0', ...words],
    {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const said = new Response(program.stderr).text();
  const pieces = program.stdout.getReader();
  const bytes = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.read();
      if (value) controller.enqueue(value);
      if (!done) return;
      if ((await program.exited) === 0) controller.close();
      else controller.error(new Error(`The source could not be packed: ${(await said).slice(0, 500)}`));
    },
  });
  return {
    bytes,
    async close() {
      program.kill('SIGKILL');
      await program.exited;
      await said;
    },
  };
}

async function namesIn(folder: string, always: readonly string[]): Promise<string[]> {
  const ignoreFile = join(folder, '.dockerignore');
  const isIgnored = existsSync(ignoreFile)
    ? parseDockerIgnore(await Bun.file(ignoreFile).text())
    : () => false;
  const names: string[] = [];
  for await (const { path, entry } of walkTree(folder)) {
    const name = relative(folder, path);
    if (name === '.git' || name.startsWith('.git/')) continue;
    const isWanted = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink();
    if (isWanted && (always.includes(name) || !isIgnored(name))) names.push(name);
  }
  // The same source is the same archive, and the engine knows what it has built of it.
  return names.sort();
}
