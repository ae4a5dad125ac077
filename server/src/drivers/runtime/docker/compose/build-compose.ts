import { lstat, readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { BuildFailure, type BuildJob, type Built } from '../../runtime.ts';
import type { ComposeArtifact } from '../artifacts.ts';
import { buildFromDockerfile } from '../build-from-dockerfile.ts';
import { imageName } from '../labels.ts';
import type { Parts } from '../parts.ts';
import { shownDigest } from '../shown-digest.ts';
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
  const { buildId, appId } = job;
  const images: Record<string, { image: string; imageId: string }> = {};
  const artifact: ComposeArtifact = { kind: 'compose', buildId, app, images };
  for (const [name, { build }] of Object.entries(app.services))
    if (build) images[name] = { image: `${imageName(parts, job)}-${name}`, imageId: '' };
  // Also of those that were built before one that fails: they are swept.
  parts.built.write(buildId, { appId, artifact: { ...artifact } });
  for (const [name, { build }] of Object.entries(app.services)) {
    const image = images[name]?.image;
    if (!build || image === undefined) continue;
    job.log('platform', `Building ${name} …`);
    const { context, dockerfile, target, args } = build;
    const imageId = await buildFromDockerfile(parts, job, {
      ...{ context, dockerfile, image, args },
      ...(target === null ? {} : { target }),
    });
    images[name] = { image, imageId };
  }
  parts.built.write(buildId, { appId, artifact: { ...artifact } });
  const ids = Object.entries(images).map(([name, { imageId }]) => [name, imageId]);
  return { artifact: { ...artifact }, digest: shownDigest([app, ids]), filesDir: null };
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
