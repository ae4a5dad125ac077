import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommitFacts, TreeFacts } from './github-answers.ts';

const environment = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Mona',
  GIT_AUTHOR_EMAIL: 'mona@example.test',
  GIT_COMMITTER_NAME: 'Mona',
  GIT_COMMITTER_EMAIL: 'mona@example.test',
};

/** The real git, for tests. */
export async function git(
  cwd: string,
  args: readonly string[],
  { input }: { input?: Uint8Array } = {},
): Promise<{ code: number; stdout: Uint8Array<ArrayBuffer>; stderr: string }> {
  const child = Bun.spawn(['git', ...args], {
    cwd,
    env: environment,
    stdin: input ?? 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, stdout, stderr };
}

export async function gitText(cwd: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await git(cwd, args);
  if (code !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return new TextDecoder().decode(stdout).trim();
}

export interface TestFolder {
  path: string;
  remove(): Promise<void>;
}

export function newFolder(): TestFolder {
  const path = mkdtempSync(join(tmpdir(), 'svc-git-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A working copy that pushes to `url`; gives the commit. */
export async function pushFiles(
  url: string,
  files: Record<string, string>,
  { branch = 'main', links = {} as Record<string, string> } = {},
): Promise<string> {
  const folder = newFolder();
  try {
    await gitText(folder.path, ['init', '--quiet', '--initial-branch', branch]);
    for (const [path, text] of Object.entries(files)) await Bun.write(join(folder.path, path), text);
    for (const [path, target] of Object.entries(links)) {
      const { symlinkSync } = await import('node:fs');
      symlinkSync(target, join(folder.path, path));
    }
    writeFileSync(join(folder.path, '.unique'), Bun.randomUUIDv7());
    await gitText(folder.path, ['add', '--all']);
    await gitText(folder.path, ['commit', '--quiet', '--message', 'Begin']);
    await gitText(folder.path, ['push', '--quiet', '--force', url, `HEAD:refs/heads/${branch}`]);
    return await gitText(folder.path, ['rev-parse', 'HEAD']);
  } finally {
    await folder.remove();
  }
}

/** Undefined where there is none of the name. */
export async function readCommit(folder: string, ref: string): Promise<CommitFacts | undefined> {
  const found = await git(folder, ['log', '-1', '--format=%H%n%T%n%P%n%B', '--end-of-options', ref]);
  if (found.code !== 0) return undefined;
  const [sha = '', treeSha = '', parents = '', ...message] = new TextDecoder()
    .decode(found.stdout)
    .split('\n');
  return {
    sha,
    treeSha,
    parents: parents.split(' ').filter(Boolean),
    message: message.join('\n').trim(),
  };
}

export async function readTree(folder: string, sha: string): Promise<TreeFacts[] | undefined> {
  const found = await git(folder, ['ls-tree', '-r', '-t', '-l', '-z', sha]);
  if (found.code !== 0) return undefined;
  return new TextDecoder()
    .decode(found.stdout)
    .split('\0')
    .filter(Boolean)
    .map((line) => {
      const [head = '', path = ''] = line.split('\t');
      const [mode = '', type = '', object = '', size = '-'] = head.split(/ +/);
      return { path, mode, type, sha: object, size: size === '-' ? null : Number(size) };
    });
}
