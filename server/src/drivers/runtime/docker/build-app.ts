import { BuildFailure, type BuildJob, type Built } from '../runtime.ts';
import type { ImageArtifact } from './artifacts.ts';
import { buildFromDetection } from './build-from-detection.ts';
import { buildFromDockerfile } from './build-from-dockerfile.ts';
import { buildSite } from './build-site.ts';
import { buildCompose } from './compose/build-compose.ts';
import { appUser, folderOf } from './dockerfile.ts';
import { imageName } from './labels.ts';
import type { Parts } from './parts.ts';
import { reasonToRefuse } from './reason-to-refuse.ts';
import { shownDigest } from './shown-digest.ts';

const portDefault = 8080;

export async function buildApp(parts: Parts, job: BuildJob): Promise<Built> {
  const reason = reasonToRefuse(parts, job);
  if (reason !== null) throw new BuildFailure('detect', reason);
  job.signal.throwIfAborted();
  if (job.method === 'compose') return buildCompose(parts, job);
  if (job.method === 'static') return buildSite(parts, job);
  const { plan, buildId, appId } = job;
  const image = imageName(parts, job);
  const begun: ImageArtifact = { kind: 'image', buildId, imageId: '', image, run: null, port: 0 };
  parts.built.write(buildId, { appId, artifact: { ...begun } });
  try {
    const imageId =
      plan.dockerfile === null
        ? await buildFromDetection(parts, job, image)
        : await buildFromDockerfile(parts, job, { dockerfile: plan.dockerfile, image });
    const artifact: ImageArtifact = {
      ...begun,
      imageId,
      run:
        plan.dockerfile === null
          ? { dir: folderOf(plan), command: plan.startCommand ?? '', user: appUser }
          : null,
      port: plan.dockerfile === null ? portDefault : await exposedPort(parts, imageId),
    };
    parts.built.write(buildId, { appId, artifact: { ...artifact } });
    return { artifact: { ...artifact }, digest: shownDigest(imageId), filesDir: null };
  } catch (error) {
    // An image that was whole and is not wanted after all stays noted, and is swept.
    if (error instanceof BuildFailure) parts.built.remove(buildId);
    throw error;
  }
}

/** The one that the image names, so that what listens there by itself is found; the lowest of several. */
async function exposedPort({ engine }: Parts, imageId: string): Promise<number> {
  const { Config } = await engine.json<{ Config: { ExposedPorts?: Record<string, unknown> | null } }>(
    'GET',
    `/images/${imageId}/json`,
  );
  const ports = Object.keys(Config.ExposedPorts ?? {})
    .filter((name) => name.endsWith('/tcp'))
    .map((name) => Number.parseInt(name, 10));
  return ports.length === 0 ? portDefault : Math.min(...ports);
}
