import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runTar } from '../../../core/run-tar.ts';
import { digestTree, findForeignEntry } from '../process/trees.ts';
import { BuildError, type BuildJob, type Built, type LogSink, type RuntimeRequirements } from '../runtime.ts';
import { buildEndError, buildLimits, pushImage } from './build-image.ts';
import {
  appUser,
  buildFromDetection,
  buildFromDockerfile,
  imageFolder,
  publicDigest,
} from './build-source.ts';
import { buildCompose } from './compose/check-compose.ts';
import { watchBuildDisk } from './disk-limits.ts';
import { buildLabels, type DockerDeps, type ImageArtifact, imageName } from './docker-deps.ts';
import { type ContainerDetail, ignoreMissing } from './engine.ts';
import { inspectContainer } from './instances.ts';
import { ensureNetwork, extraHosts } from './networks.ts';
import { followOutput } from './run-command.ts';
import { logConfig } from './start-instance.ts';

const portDefault = 8080;

export async function buildApp(deps: DockerDeps, job: BuildJob): Promise<Built> {
  const reason = findUnsupported(deps, job) ?? (await deps.firewall.protect());
  if (reason !== null) throw new BuildError('detect', reason);
  job.signal.throwIfAborted();
  if (job.method === 'compose') return buildCompose(deps, job);
  if (job.method === 'static') return buildSite(deps, job);
  const { plan, buildId, appId } = job;
  const isShared = deps.registry !== null && deps.swarmNode !== null;
  const image = imageName(deps, job, isShared ? `${deps.registry}/` : undefined);
  const unfinished: ImageArtifact = { kind: 'image', buildId, imageId: '', image, run: null, port: 0 };
  deps.built.write(buildId, { appId, artifact: { ...unfinished } });
  try {
    const imageId =
      plan.dockerfile === null
        ? await buildFromDetection(deps, job, image)
        : await buildFromDockerfile(deps, job, { dockerfile: plan.dockerfile, image });
    if (isShared) await pushImage(deps, job, image);
    const artifact: ImageArtifact = {
      ...unfinished,
      imageId,
      run:
        plan.dockerfile === null
          ? { dir: imageFolder(plan), command: plan.startCommand ?? '', user: appUser }
          : null,
      port: plan.dockerfile === null ? portDefault : await exposedPort(deps, imageId),
    };
    deps.built.write(buildId, { appId, artifact: { ...artifact } });
    return { artifact: { ...artifact }, digest: publicDigest(imageId), filesDir: null };
  } catch (error) {
    // After other errors the image may exist, so its note stays for the cleanup job.
    if (error instanceof BuildError) deps.built.remove(buildId);
    throw error;
  }
}

async function exposedPort({ engine }: DockerDeps, imageId: string): Promise<number> {
  const { Config } = await engine.json<{ Config: { ExposedPorts?: Record<string, unknown> | null } }>(
    'GET',
    `/images/${imageId}/json`,
  );
  const ports = Object.keys(Config.ExposedPorts ?? {})
    .filter((name) => name.endsWith('/tcp'))
    .map((name) => Number.parseInt(name, 10));
  return ports.length === 0 ? portDefault : Math.min(...ports);
}

export function findUnsupported(
  { composeTool, swarmNode }: Pick<DockerDeps, 'composeTool' | 'swarmNode'>,
  { method, plan }: RuntimeRequirements,
): string | null {
  if (method === 'compose') {
    if (composeTool === null)
      return swarmNode === null
        ? 'No compose tool was found on the server. Install docker-compose or the compose plugin of Docker.'
        : 'The docker command, which deploys compose apps to a Swarm, was not found on the server. Install it.';
    return plan.composeFile === null ? 'The source has no compose file.' : null;
  }
  if (method === 'docker' && plan.dockerfile === null && !plan.startCommand?.trim())
    return 'No Dockerfile and no start command were found. Add a Dockerfile, or a start command to svc.yaml.';
  return null;
}

async function buildSite(deps: DockerDeps, job: BuildJob): Promise<Built> {
  const { engine } = deps;
  const image = imageName(deps, job);
  const { installCommand, buildCommand } = job.plan;
  const commands = [installCommand, buildCommand].filter((command) => command !== null);
  const mark = crypto.randomUUID();
  let container: string | null = null;
  try {
    const plan = { ...job.plan, installCommand: null, buildCommand: null };
    const imageId = await buildFromDetection(deps, { ...job, plan }, image);
    container = await createBuildContainer(deps, job, { imageId, commands, mark });
    if (commands.length > 0) await runCommands(deps, job, { container, commands, mark });
    return { artifact: {}, ...(await copyFilesOut(deps, job, container)) };
  } finally {
    const gone = { query: { force: 1, v: 1 } };
    if (container !== null) await ignoreMissing(engine.send('DELETE', `/containers/${container}`, gone));
    await ignoreMissing(engine.send('DELETE', `/images/${image}`, { query: { force: 1 } }));
  }
}

/** Prints a secret line before each command, which separates their output. */
const commandsScript = `cd -- "$0" && export HOME=/tmp PATH="$PATH:$PWD/node_modules/.bin" && mark="$1" && shift
for command in "$@"; do echo "$mark"; /bin/sh -c "$command" || exit; done`;

/** The app's commands run in a container, not in an image build, because their variables must not become image layers. */
async function createBuildContainer(
  deps: DockerDeps,
  job: BuildJob,
  options: { imageId: string; commands: readonly string[]; mark: string },
): Promise<string> {
  const { engine } = deps;
  const { memory, cpu, processes } = buildLimits(job);
  const env = { ...deps.buildVariables, ...job.env };
  const created = await engine.json<{ Id: string }>('POST', '/containers/create', {
    body: {
      Image: options.imageId,
      Entrypoint: [],
      Cmd: ['/bin/sh', '-c', commandsScript, imageFolder(job.plan), options.mark, ...options.commands],
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      User: appUser,
      Labels: buildLabels(deps, job),
      HostConfig: {
        Init: true,
        Memory: memory,
        MemorySwap: memory,
        NanoCpus: Math.round(cpu * 1e9),
        PidsLimit: processes,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        LogConfig: logConfig,
        NetworkMode: await ensureNetwork(deps, 'builds'),
        ExtraHosts: extraHosts,
      },
    },
  });
  return created.Id;
}

async function runCommands(
  deps: DockerDeps,
  job: BuildJob,
  options: { container: string; commands: readonly string[]; mark: string },
): Promise<void> {
  const { engine } = deps;
  const { container, commands, mark } = options;
  const network = await ensureNetwork(deps, 'builds');
  const isOwn = ({ Id }: ContainerDetail) => Id === container;
  const disk = watchBuildDisk(deps, { network, isOwn, mbMax: buildLimits(job).diskMb });
  const signal = AbortSignal.any([job.signal, disk.signal, AbortSignal.timeout(deps.buildMsMax)]);
  let startedCount = 0;
  const log: LogSink = (stream, line) => {
    if (stream === 'stdout' && line === mark) job.log('platform', `$ ${commands[startedCount++] ?? ''}`);
    else job.log(stream, line);
  };
  try {
    await engine.send('POST', `/containers/${container}/start`, { signal });
    await followOutput(deps, { container, log, timeoutMs: deps.buildMsMax, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    await ignoreMissing(engine.send('DELETE', `/containers/${container}`, { query: { force: 1, v: 1 } }));
    throw buildEndError(deps, job, disk.signal);
  } finally {
    disk.stop();
  }
  const detail = await inspectContainer(engine, container);
  const { ExitCode: code = -1, OOMKilled: isOut = false } = detail?.State ?? {};
  if (isOut) throw new BuildError('build', 'The build ran out of memory.');
  if (code !== 0)
    throw new BuildError('build', `“${commands[startedCount - 1] ?? ''}” ended with exit code ${code}.`);
}

const outputFolderName = '.svc-files';
const outputBytesMax = 4 * 1024 ** 3;

async function copyFilesOut(
  { engine }: DockerDeps,
  job: BuildJob,
  container: string,
): Promise<Pick<Built, 'filesDir' | 'digest'>> {
  const below = (job.plan.outputDir ?? '.').replace(/^(?:\.\/)+|\/+$/g, '') || '.';
  const path = below === '.' ? imageFolder(job.plan) : `${imageFolder(job.plan)}/${below}`;
  const answer = await ignoreMissing(
    engine.stream('GET', `/containers/${container}/archive`, { query: { path }, signal: job.signal }),
  );
  if (!answer) throw new BuildError('build', `The build created no folder ${below}.`);
  const into = join(job.sourceDir, outputFolderName);
  await mkdir(into, { recursive: true, mode: 0o700 });
  const body = answer.body as unknown as AsyncIterable<Uint8Array>;
  await runTar(limitBytes(body), { into, signal: job.signal });
  const filesDir = join(into, path.split('/').at(-1) ?? '');
  const foreign = await findForeignEntry(filesDir, filesDir).catch(() => null);
  if (foreign !== null) throw new BuildError('build', `In ${below}, ${foreign}.`);
  const digest = await digestTree(filesDir).catch(() => {
    throw new BuildError('build', `${below} is not a folder.`);
  });
  return { filesDir, digest };
}

async function* limitBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > outputBytesMax) throw new BuildError('build', 'The build created more than 4 GiB of files.');
    yield piece;
  }
}
