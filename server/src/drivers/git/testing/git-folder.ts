import { mkdtempSync, symlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

export async function git(cwd: string, args: readonly string[]) {
  const child = Bun.spawn(['git', ...args], { cwd, env: environment, stdout: 'pipe', stderr: 'pipe' });
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

export function newFolder() {
  const path = mkdtempSync(join(tmpdir(), 'svc-git-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export async function pushFiles(
  url: string,
  files: Record<string, string>,
  { branch = 'main', links = {} as Record<string, string> } = {},
): Promise<string> {
  const { path: folder, remove } = newFolder();
  try {
    await gitText(folder, ['init', '--quiet', '--initial-branch', branch]);
    const unique = { '.unique': Bun.randomUUIDv7() };
    for (const [path, text] of Object.entries({ ...files, ...unique }))
      await Bun.write(join(folder, path), text);
    for (const [path, target] of Object.entries(links)) symlinkSync(target, join(folder, path));
    await gitText(folder, ['add', '--all']);
    await gitText(folder, ['commit', '--quiet', '--message', 'Begin']);
    await gitText(folder, ['push', '--quiet', '--force', url, `HEAD:refs/heads/${branch}`]);
    return await gitText(folder, ['rev-parse', 'HEAD']);
  } finally {
    await remove();
  }
}
