import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { buildDiskMbMin } from '../process/build-app.ts';
import { splitLines } from '../process/output.ts';
import { BuildError, type BuildJob, type LogSink, processLimit } from '../runtime.ts';
import { watchBuildDisk } from './disk-limits.ts';
import { buildLabels, type DockerDeps, filters, type ImageArtifact } from './docker-deps.ts';
import {
  type ContainerDetail,
  type ContainerSummary,
  type Engine,
  EngineError,
  ignoreMissing,
  readMessages,
} from './engine.ts';
import { inspectContainer } from './instances.ts';
import { ensureNetwork } from './networks.ts';
import { archiveSource, type BuildContext } from './source-archive.ts';

const buildMemoryMbMin = 2048;
const buildCpuMin = 1;
const cpuPeriod = 100_000;
const endMsMax = 20_000;

interface ImageBuild {
  job: BuildJob;
  context: BuildContext;
  dockerfile: string;
  image: string;
  variables: Readonly<Record<string, string>>;
  target?: string | undefined;
  describeStep: (instruction: string) => string | null;
}

export async function buildImage(deps: DockerDeps, build: ImageBuild): Promise<string> {
  const { job } = build;
  job.signal.throwIfAborted();
  /** Entry in `/etc/hosts` of the build's containers, which identifies them. */
  const mark = `svc-build-${crypto.randomUUID()}`;
  const network = await ensureNetwork(deps, 'builds');
  const isOwn = (step: ContainerDetail) => isMarked(step, mark);
  const { diskMb, processes } = buildLimits(job);
  const archive = await archiveSource(build.context, deps.scratchDir);
  const disk = watchBuildDisk(deps, { network, isOwn, mbMax: diskMb });
  const unlimited = new AbortController();
  const ends = [job.signal, disk.signal, unlimited.signal, AbortSignal.timeout(deps.buildMsMax)];
  const stopped = AbortSignal.any(ends);
  const lines = createBuildLog(job.log, build.describeStep);
  const ending = new AbortController();
  try {
    await limitProcesses(deps.engine, {
      max: processes,
      isOwn,
      signal: AbortSignal.any([stopped, ending.signal]),
      onFailure: (error) => unlimited.abort(error),
    });
    const answer = await deps.engine.stream('POST', '/build', {
      query: buildQuery(deps, build, { mark, network }),
      bytes: archive.bytes,
      signal: stopped,
    });
    return await readImageId(answer, build, lines);
  } catch (error) {
    if (!stopped.aborted) {
      if (error instanceof EngineError && error.status === 400) throw new BuildError('build', error.message);
      throw error;
    }
    await waitForBuildEnd(deps.engine, mark);
    unlimited.signal.throwIfAborted();
    throw buildEndError(deps, job, disk.signal);
  } finally {
    ending.abort();
    disk.stop();
    lines.end();
    await archive.close();
  }
}

/**
 * Image builds have no limit of processes in the engine's interface, but running containers can be given one: each step's gets
 * it as soon as it starts. Without it, the build is stopped.
 */
async function limitProcesses(
  engine: Engine,
  options: {
    max: number;
    isOwn: (step: ContainerDetail) => boolean;
    signal: AbortSignal;
    onFailure: (error: unknown) => void;
  },
): Promise<void> {
  const { max, isOwn, signal, onFailure } = options;
  const query = filters({ type: ['container'], event: ['start'] });
  const answer = await engine.stream('GET', '/events', { query, signal });
  const limit = async (id: string) => {
    const step = await inspectContainer(engine, id);
    if (!step || !isOwn(step)) return;
    const update = engine.send('POST', `/containers/${id}/update`, { body: { PidsLimit: max } });
    await update.catch(async (error: unknown) => {
      if ((await inspectContainer(engine, id))?.State.Running) throw error;
    });
  };
  const follow = async () => {
    for await (const { Actor } of readMessages<{ Actor: { ID: string } }>(answer))
      void limit(Actor.ID).catch(onFailure);
    throw new EngineError(0, 'The engine no longer reports which steps of the build start.');
  };
  void follow().catch((error) => signal.aborted || onFailure(error));
}

/** Without a password, the engine requires the header all the same. */
const noPassword = { 'x-registry-auth': Buffer.from('{}').toString('base64') };

/** To the registry in its name. */
export async function pushImage(
  deps: Pick<DockerDeps, 'engine' | 'buildMsMax'>,
  { signal, log }: Pick<BuildJob, 'signal' | 'log'>,
  image: string,
): Promise<void> {
  const [, name = '', tag] = /^(.*):([^:/]+)$/.exec(image) ?? [];
  log('platform', 'Storing the image in the registry …');
  const late = AbortSignal.timeout(deps.buildMsMax);
  try {
    const answer = await deps.engine.stream('POST', `/images/${name}/push`, {
      query: { tag },
      headers: noPassword,
      signal: AbortSignal.any([signal, late]),
    });
    for await (const { error } of readMessages<BuildMessage>(answer))
      if (error !== undefined)
        throw new BuildError(
          'build',
          `The image could not be stored in the registry: ${error.slice(0, 500)}`,
        );
  } catch (error) {
    if (late.aborted && !signal.aborted) throw tooLongError(deps);
    throw error;
  }
}

/** The image was built or pulled on another node. */
export async function ensureImage(
  { engine, registry }: DockerDeps,
  { image, imageId }: ImageArtifact,
  signal?: AbortSignal,
): Promise<void> {
  if (registry === null || !image.startsWith(`${registry}/`)) return;
  if (await ignoreMissing(engine.json('GET', `/images/${imageId}/json`))) return;
  const query = { fromImage: image };
  const call = { query, headers: noPassword, timeoutMs: pullMsMax, ...(signal ? { signal } : {}) };
  await engine.send('POST', '/images/create', call);
}

const pullMsMax = 10 * 60_000;

/** The error of a build that was stopped. */
export function buildEndError(deps: DockerDeps, job: BuildJob, disk: AbortSignal): BuildError {
  job.signal.throwIfAborted();
  if (disk.aborted) return new BuildError('build', `The build ${disk.reason}.`);
  return tooLongError(deps);
}

function tooLongError({ buildMsMax }: Pick<DockerDeps, 'buildMsMax'>): BuildError {
  return new BuildError(
    'build',
    `The build took longer than ${Math.round(buildMsMax / 6_000) / 10} minutes.`,
  );
}

export function buildLimits({ limits }: BuildJob) {
  const memoryMb = Math.max(buildMemoryMbMin, limits.memoryMb);
  return {
    memory: memoryMb * 1024 * 1024,
    cpu: Math.max(buildCpuMin, limits.cpu),
    diskMb: Math.max(buildDiskMbMin, limits.diskMb),
    processes: processLimit({ memoryMb }),
  };
}

function buildQuery(
  deps: DockerDeps,
  { job, dockerfile, image, variables, target }: ImageBuild,
  { mark, network }: { mark: string; network: string },
) {
  const { memory, cpu } = buildLimits(job);
  return {
    dockerfile,
    t: image,
    rm: 1,
    forcerm: 1,
    memory,
    memswap: memory,
    target,
    cpuperiod: cpuPeriod,
    cpuquota: Math.round(cpu * cpuPeriod),
    extrahosts: `${mark}:127.0.0.1`,
    networkmode: network,
    labels: JSON.stringify(buildLabels(deps, job)),
    buildargs: JSON.stringify(variables),
  };
}

async function readImageId(
  answer: Response,
  { image }: ImageBuild,
  lines: { take(message: BuildMessage): void; end(): void },
): Promise<string> {
  let id: string | null = null;
  for await (const message of readMessages<BuildMessage>(answer)) {
    if (message.aux?.ID) id = message.aux.ID;
    if (message.error !== undefined) {
      lines.end();
      throw toBuildError(message);
    }
    lines.take(message);
  }
  if (id === null) throw new EngineError(0, `The engine ended the build of ${image} without a result.`);
  return id;
}

function toBuildError({ error = '', errorDetail }: BuildMessage): BuildError {
  const code = errorDetail?.code;
  if (code === 137)
    return new BuildError('build', 'The build was ended (exit code 137): it may have run out of memory.');
  const match = /&& exec \/bin\/sh -c "\$1" \S+ (.*)' returned a non-zero code/s.exec(error);
  if (match && code !== undefined)
    return new BuildError('build', `“${match[1]}” ended with exit code ${code}.`);
  return new BuildError('build', error.slice(0, 2_000));
}

const isMarked = ({ HostConfig }: ContainerDetail, mark: string) =>
  HostConfig.ExtraHosts?.some((line) => line.startsWith(mark)) ?? false;

async function waitForBuildEnd(engine: Engine, mark: string): Promise<void> {
  for (const deadline = Date.now() + endMsMax; Date.now() < deadline; await Bun.sleep(50)) {
    const all = await engine.json<ContainerSummary[]>('GET', '/containers/json', { query: { all: 1 } });
    const found = await Promise.all(
      all.map(({ Id }) => ignoreMissing(engine.json<ContainerDetail>('GET', `/containers/${Id}/json`))),
    );
    const own = found.filter((one) => one !== null && isMarked(one, mark));
    if (own.length === 0) return;
    for (const one of own)
      await ignoreMissing(
        engine.send('DELETE', `/containers/${one?.Id}`, { query: { force: 1, v: 1 } }),
      ).catch(() => {});
  }
}

const engineMessages =
  /^(?: ---> .*|Removing intermediate container [0-9a-f]+|Successfully (?:built|tagged) \S+|\[Warning\] One or more build-args.*)$/;
const red = '\u001b[91m';
const plain = '\u001b[0m';

interface BuildMessage {
  stream?: string;
  status?: string;
  aux?: { ID?: string };
  error?: string;
  errorDetail?: { code?: number; message?: string };
}

function createBuildLog(log: LogSink, describeStep: (instruction: string) => string | null) {
  const encoder = new TextEncoder();
  const out = splitLines({ lineBytesMax: logLineBytesMax, onLine });
  const errors = splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => log('stderr', line) });

  function onLine(line: string): void {
    const step = /^Step \d+\/\d+ : (.*)$/s.exec(line);
    if (step) {
      const text = describeStep(step[1] ?? '');
      if (text !== null) log('platform', text);
    } else if (line !== '' && !engineMessages.test(line)) log('stdout', line);
  }

  return {
    take({ stream, status }: BuildMessage) {
      if (status !== undefined && stream === undefined) log('platform', status);
      if (stream === undefined) return;
      if (stream.startsWith(red)) errors.take(encoder.encode(stream.slice(red.length).replace(plain, '')));
      else out.take(encoder.encode(stream));
    },
    end() {
      out.end();
      errors.end();
    },
  };
}
