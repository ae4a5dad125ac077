import { GitFailure } from './git-client.ts';
import { type RunGit, readGit } from './run-git.ts';

/** Nobody reads more of it. */
const bytesMax = 64 * 1024;

/** What a commit says, cut off where it says more than anybody reads. */
export async function messageOf({
  sha,
  ...run
}: Pick<RunGit, 'path' | 'cwd' | 'signal'> & { sha: string }): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const enough = new GitFailure('too_large', 'The message is long.');
  const args = ['log', '-1', '--format=%B', sha];
  await readGit({ ...run, args }, (piece) => {
    pieces.push(piece);
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw enough;
  }).catch((error: unknown) => {
    if (error !== enough) throw error;
  });
  return Buffer.concat(pieces).subarray(0, bytesMax).toString('utf8');
}
