import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runTar } from '../../../plumbing/run-tar.ts';
import { digestTree } from '../process/digest-tree.ts';
import { strangeEntry } from '../process/trees.ts';
import { BuildFailure, type BuildJob, type Built } from '../runtime.ts';
import { folderOf } from './dockerfile.ts';
import { unlessGone } from './engine.ts';
import type { Parts } from './parts.ts';

/** Where what was taken out lies, below the source. */
const takenName = '.svc-files';
const takenBytesMax = 4 * 1024 ** 3;

/** Of a static site only the files are wanted: they are copied out of the container that made them. */
export async function takeFiles(
  { engine }: Parts,
  job: BuildJob,
  container: string,
): Promise<Pick<Built, 'filesDir' | 'digest'>> {
  const below = (job.plan.outputDir ?? '.').replace(/^(?:\.\/)+|\/+$/g, '') || '.';
  const path = below === '.' ? folderOf(job.plan) : `${folderOf(job.plan)}/${below}`;
  const answer = await unlessGone(
    engine.stream('GET', `/containers/${container}/archive`, { query: { path }, signal: job.signal }),
  );
  if (!answer) throw new BuildFailure('build', `The build made no folder ${below}.`);
  const into = join(job.sourceDir, takenName);
  await mkdir(into, { recursive: true, mode: 0o700 });
  const body = answer.body as unknown as AsyncIterable<Uint8Array>;
  await runTar(limited(body), { into, signal: job.signal });
  const filesDir = join(into, path.split('/').at(-1) ?? '');
  const strange = await strangeEntry(filesDir, filesDir).catch(() => null);
  if (strange !== null) throw new BuildFailure('build', `In ${below}, ${strange}.`);
  const digest = await digestTree(filesDir).catch(() => {
    throw new BuildFailure('build', `${below} is no folder.`);
  });
  return { filesDir, digest };
}

async function* limited(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > takenBytesMax) throw new BuildFailure('build', 'The build made more than 4 GiB of files.');
    yield piece;
  }
}
