import { folderWithin } from '../process/trees.ts';
import { BuildFailure, type BuildJob } from '../runtime.ts';
import { buildImage } from './build-image.ts';
import { dockerfileOf, sourceName } from './dockerfile.ts';
import type { Parts } from './parts.ts';

/** Without variables of the app: what a build is given stays in the image's history. */
export async function buildFromDetection(parts: Parts, job: BuildJob, image: string): Promise<string> {
  const { plan, sourceDir } = job;
  if ((await folderWithin(sourceDir, plan.dir)) === null)
    throw new BuildFailure('detect', `The source has no folder ${plan.dir}.`);
  const variables = parts.buildVariables;
  const text = dockerfileOf(plan, { baseImage: parts.baseImage, variables: Object.keys(variables) });
  const commands = [plan.installCommand, plan.buildCommand].filter((command) => command !== null);
  return buildImage(parts, {
    ...{ job, image, variables, dockerfile: 'Dockerfile' },
    context: { folder: sourceDir, as: sourceName, always: [], beside: { Dockerfile: text } },
    // Only what is the app's own is told, as it was written.
    tellStep: (instruction) => (instruction.startsWith('RUN ') ? `$ ${commands.shift() ?? ''}` : null),
  });
}
