import { createHash } from 'node:crypto';
import { lstat, readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { BuildFailure, type BuildJob, type Built } from '../../runtime.ts';
import type { ComposeArtifact } from '../artifacts.ts';
import { buildFromDockerfile } from '../build-app.ts';
import { imageName } from '../labels.ts';
import type { Parts } from '../parts.ts';
import { checkCompose } from './check-compose.ts';
import type { ComposeApp } from './compose-app.ts';
import { RefusedCompose } from './refused-compose.ts';

/** The file is read and judged before anything is built; what is not built is fetched when it is started. */
export async function buildCompose(parts: Parts, job: BuildJob): Promise<Built> {
  const app = await readCompose(job);
  if (parts.swarmNode !== null && app.volumes.length > 0)
    throw new BuildFailure(
      'detect',
      'The compose file: volumes are not run in a Swarm, where two deployments would use one at the same time.',
    );
  const images: Record<string, { image: string; imageId: string }> = {};
  for (const [name, { build }] of Object.entries(app.services)) {
    if (!build) continue;
    job.log('platform', `Building ${name} …`);
    const image = `${imageName(job)}-${name}`;
    const { context, dockerfile, target, args } = build;
    const imageId = await buildFromDockerfile(parts, job, {
      ...{ context, dockerfile, image, args },
      ...(target === null ? {} : { target }),
    });
    images[name] = { image, imageId };
  }
  const artifact: ComposeArtifact = { kind: 'compose', app, images };
  const ids = Object.entries(images).map(([name, { imageId }]) => [name, imageId]);
  const sum = createHash('sha256')
    .update(JSON.stringify([app, ids]))
    .digest('hex');
  return { artifact: { ...artifact }, digest: `sha256:${sum}`, filesDir: null };
}

async function readCompose({ sourceDir, plan, env }: BuildJob): Promise<ComposeApp> {
  const name = plan.composeFile ?? '';
  const top = await realpath(sourceDir);
  const found = await realpath(join(sourceDir, name)).catch(() => null);
  if (found === null || !found.startsWith(top + sep) || !(await lstat(found)).isFile())
    throw new BuildFailure('detect', `The source has no compose file ${name}.`);
  try {
    return checkCompose(await readFile(found, 'utf8'), env);
  } catch (error) {
    if (error instanceof RefusedCompose) throw new BuildFailure('detect', error.message);
    throw error;
  }
}
