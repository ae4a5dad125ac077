import { existsSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { folderWithin } from '../process/trees.ts';
import { BuildFailure, type BuildJob } from '../runtime.ts';
import { buildImage } from './build-image.ts';
import type { Parts } from './parts.ts';
import { type DockerfileReading, readDockerfile, UnclearDockerfile } from './read-dockerfile.ts';
import { reasonAgainstImage } from './reason-against-image.ts';

export interface DockerfileWish {
  /** Below the source. */
  dockerfile: string;
  image: string;
  context?: string;
  target?: string;
  args?: Readonly<Record<string, string>>;
}

export async function buildFromDockerfile(
  parts: Parts,
  job: BuildJob,
  wish: DockerfileWish,
): Promise<string> {
  const { plan, sourceDir } = job;
  const isBelow = plan.dir !== '.' && wish.dockerfile.startsWith(`${plan.dir}/`);
  const folder = await folderWithin(sourceDir, wish.context ?? (isBelow ? plan.dir : '.'));
  if (folder === null) throw new BuildFailure('detect', `The source has no folder ${wish.context}.`);
  const path = join(sourceDir, wish.dockerfile);
  const dockerfile = relative(folder, path);
  const found = existsSync(path) && (await lstat(path)).isFile();
  if (!found || dockerfile.startsWith('..'))
    throw new BuildFailure('detect', `The source has no file ${wish.dockerfile} that could be built from.`);
  const given = { ...parts.buildVariables, ...job.env, ...wish.args };
  const { args } = readAllowed(await readFile(path, 'utf8'), given);
  const asked = Object.fromEntries(Object.entries(job.env).filter(([name]) => args.has(name)));
  const told = [...new Set([...Object.keys(asked), ...Object.keys(wish.args ?? {})])].sort();
  if (told.length > 0)
    job.log(
      'platform',
      `Warning: the Dockerfile asks for ${told.join(', ')} by ARG. What a build is given so stays in the image’s history: use no secrets there.`,
    );
  return buildImage(parts, {
    ...{ job, image: wish.image, dockerfile, target: wish.target },
    variables: { ...parts.buildVariables, ...asked, ...wish.args },
    context: { folder, as: '.', always: [dockerfile, '.dockerignore'], beside: {} },
    tellStep: (instruction) => instruction,
  });
}

function readAllowed(text: string, given: Readonly<Record<string, string>>): DockerfileReading {
  try {
    const read = readDockerfile(text, given);
    for (const image of read.images) {
      const reason = reasonAgainstImage(image);
      if (reason !== null) throw new BuildFailure('detect', `The Dockerfile: ${image} ${reason}.`);
    }
    return read;
  } catch (error) {
    if (!(error instanceof UnclearDockerfile)) throw error;
    throw new BuildFailure(
      'detect',
      `The Dockerfile: which image is meant can not be told from “${error.message.slice(0, 200)}”.`,
    );
  }
}
