import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Edit } from './git-client.ts';
import type { RunGit } from './run-git.ts';
import { signature } from './signature.ts';

export type Git = (run: Omit<RunGit, 'path'>) => Promise<string>;

/** The commit with the edit on top of another, without a working tree; that other where nothing is to be edited. */
export async function commitEdit(
  gitAt: Git,
  { sha, gitDir, signal, edit }: { sha: string; gitDir: string; signal: AbortSignal; edit: Edit },
): Promise<string> {
  const env = { GIT_DIR: gitDir, GIT_INDEX_FILE: join(gitDir, 'edit-index'), ...signature(edit) };
  const git = (...args: string[]) => gitAt({ args, cwd: gitDir, signal, env });
  const changed: string[] = [];
  for (const file of listed(await git('ls-tree', '-l', '-z', sha, '--', ...edit.names))) {
    if (file.bytes > edit.fileBytesMax) continue;
    const text = await git('cat-file', 'blob', file.blob);
    const after = isText(text, file.bytes) ? edit.change(text) : null;
    if (after === null || after === text) continue;
    const beside = join(gitDir, 'edit-file');
    await writeFile(beside, after);
    const blob = (await git('hash-object', '-w', '--no-filters', '--', beside)).trim();
    changed.push('--cacheinfo', `${file.mode},${blob},${file.name}`);
  }
  if (changed.length === 0) return sha;
  await git('read-tree', sha);
  await git('update-index', ...changed);
  const tree = (await git('write-tree')).trim();
  return (await git('commit-tree', tree, '-p', sha, '-m', edit.message)).trim();
}

interface Listed {
  mode: string;
  blob: string;
  bytes: number;
  name: string;
}

/** Plain files; a link says where something else lies. */
function listed(text: string): Listed[] {
  return [...text.matchAll(/(100644|100755) blob ([0-9a-f]{40,64}) +(\d+)\t([^\0]+)\0/g)].map(
    ([, mode = '', blob = '', bytes, name = '']) => ({ mode, blob, bytes: Number(bytes), name }),
  );
}

/** What was no UTF-8 would not be written as it was read. */
const isText = (text: string, bytes: number) => Buffer.byteLength(text) === bytes && !text.includes('\ufffd');
