import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { folderWithin } from '../process/trees.ts';
import { BuildFailure, type BuildJob, type Built } from '../runtime.ts';
import type { ImageArtifact } from './artifacts.ts';
import { buildImage } from './build-image.ts';
import { buildCompose } from './compose/build-compose.ts';
import { appUser, dockerfileOf, folderOf, sourceName } from './dockerfile.ts';
import { unlessGone } from './engine.ts';
import { imageName } from './labels.ts';
import type { Parts } from './parts.ts';
import { reasonToRefuse } from './reason-to-refuse.ts';
import { takeFiles } from './take-files.ts';

const portDefault = 8080;

export async function buildApp(parts: Parts, job: BuildJob): Promise<Built> {
  const reason = reasonToRefuse(parts, job);
  if (reason !== null) throw new BuildFailure('detect', reason);
  job.signal.throwIfAborted();
  if (job.method === 'compose') return buildCompose(parts, job);
  if (job.method === 'static') return buildSite(parts, job);
  const { plan } = job;
  const image = imageName(job);
  const imageId =
    plan.dockerfile === null
      ? await buildFromDetection(parts, job, image)
      : await buildFromDockerfile(parts, job, { dockerfile: plan.dockerfile, image });
  const artifact: ImageArtifact = {
    kind: 'image',
    imageId,
    image,
    run:
      plan.dockerfile === null
        ? { dir: folderOf(plan), command: plan.startCommand ?? '', user: appUser }
        : null,
    port: plan.dockerfile === null ? portDefault : await exposedPort(parts, imageId),
  };
  return { artifact: { ...artifact }, digest: imageId, filesDir: null };
}

async function buildSite(parts: Parts, job: BuildJob): Promise<Built> {
  const image = imageName(job);
  const imageId = await buildFromDetection(parts, job, image);
  try {
    return { artifact: {}, ...(await takeFiles(parts, job, imageId)) };
  } finally {
    await unlessGone(parts.engine.tell('DELETE', `/images/${image}`, { query: { force: 1 } }));
  }
}

async function buildFromDetection(parts: Parts, job: BuildJob, image: string): Promise<string> {
  const { plan, sourceDir } = job;
  if ((await folderWithin(sourceDir, plan.dir)) === null)
    throw new BuildFailure('detect', `The source has no folder ${plan.dir}.`);
  const variables = { ...parts.buildVariables, ...namable(job.env) };
  const text = dockerfileOf(plan, { baseImage: parts.baseImage, variables: Object.keys(variables) });
  const commands = [plan.installCommand, plan.buildCommand].filter((command) => command !== null);
  return buildImage(parts, {
    ...{ job, image, variables, dockerfile: 'Dockerfile' },
    context: { folder: sourceDir, as: sourceName, always: [], beside: { Dockerfile: text } },
    // Only what is the app's own is told, as it was written.
    tellStep: (instruction) => (instruction.startsWith('RUN ') ? `$ ${commands.shift() ?? ''}` : null),
  });
}

export async function buildFromDockerfile(
  parts: Parts,
  job: BuildJob,
  wish: {
    dockerfile: string;
    image: string;
    context?: string;
    target?: string;
    args?: Readonly<Record<string, string>>;
  },
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
  return buildImage(parts, {
    ...{ job, image: wish.image, dockerfile, target: wish.target },
    variables: { ...parts.buildVariables, ...namable(job.env), ...wish.args },
    context: { folder, as: '.', always: [dockerfile, '.dockerignore'], beside: {} },
    tellStep: (instruction) => instruction,
  });
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

const namable = (env: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => /^[A-Za-z_]\w*$/.test(name)));
