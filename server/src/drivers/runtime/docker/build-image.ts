import { BuildFailure, type BuildJob } from '../runtime.ts';
import { type BuildMessage, buildLines } from './build-lines.ts';
import { type Engine, EngineError, unlessGone } from './engine.ts';
import type { ContainerDetail, ContainerSummary } from './engine-shapes.ts';
import { labelsOfBuild } from './labels.ts';
import type { Parts } from './parts.ts';
import { archiveSource, type Context } from './source-archive.ts';

/** Builds need more than what they build. */
const buildMemoryMbMin = 2048;
const buildCpuMin = 1;
const cpuPeriod = 100_000;
const endMsMax = 20_000;

export interface ImageWish {
  job: BuildJob;
  context: Context;
  /** In the context. */
  dockerfile: string;
  image: string;
  variables: Readonly<Record<string, string>>;
  target?: string | undefined;
  /** What is said of a step; null: nothing. */
  tellStep: (instruction: string) => string | null;
}

/** The id of the image, which also bears the name. */
export async function buildImage(parts: Parts, wish: ImageWish): Promise<string> {
  const { job } = wish;
  job.signal.throwIfAborted();
  const late = AbortSignal.timeout(parts.buildMsMax);
  const stopped = AbortSignal.any([job.signal, late]);
  /** In `/etc/hosts` of the containers that the engine makes for it, by which they are known as its own. */
  const mark = `svc-build-${crypto.randomUUID()}`;
  const archive = await archiveSource(wish.context, parts.scratchDir);
  const lines = buildLines(job.log, wish.tellStep);
  try {
    const answer = await parts.engine.stream('POST', '/build', {
      query: queryOf(parts, wish, mark),
      bytes: archive.bytes,
      signal: stopped,
    });
    return await imageIdFrom(answer, wish, lines);
  } catch (error) {
    if (!stopped.aborted) {
      if (error instanceof EngineError && error.status === 400)
        throw new BuildFailure('build', error.message);
      throw error;
    }
    await awaitEnd(parts.engine, mark);
    job.signal.throwIfAborted();
    const minutes = Math.round(parts.buildMsMax / 6_000) / 10;
    throw new BuildFailure('build', `The build took longer than ${minutes} minutes.`);
  } finally {
    lines.end();
    await archive.close();
  }
}

export const buildLimits = ({ limits }: BuildJob) => ({
  memory: Math.max(buildMemoryMbMin, limits.memoryMb) * 1024 * 1024,
  cpu: Math.max(buildCpuMin, limits.cpu),
});

function queryOf(parts: Parts, { job, dockerfile, image, variables, target }: ImageWish, mark: string) {
  const { memory, cpu } = buildLimits(job);
  return {
    ...{ dockerfile, t: image, rm: 1, forcerm: 1, memory, memswap: memory, target },
    cpuperiod: cpuPeriod,
    cpuquota: Math.round(cpu * cpuPeriod),
    extrahosts: `${mark}:127.0.0.1`,
    labels: JSON.stringify(labelsOfBuild(parts, job)),
    buildargs: JSON.stringify(variables),
  };
}

async function imageIdFrom(
  answer: Response,
  { image }: ImageWish,
  lines: { take(message: BuildMessage): void; end(): void },
): Promise<string> {
  let id: string | null = null;
  for await (const message of messagesIn(answer)) {
    if (message.aux?.ID) id = message.aux.ID;
    if (message.error !== undefined) {
      lines.end();
      throw failureOf(message);
    }
    lines.take(message);
  }
  if (id === null) throw new EngineError(0, `The engine ended the build of ${image} without a word.`);
  return id;
}

function failureOf({ error = '', errorDetail }: BuildMessage): BuildFailure {
  const code = errorDetail?.code;
  if (code === 137)
    return new BuildFailure('build', 'The build was ended (exit code 137): it may have run out of memory.');
  // Ours are `sh -c <line> <folder> <command>`, which nobody wants to read.
  const ours = /&& exec \/bin\/sh -c "\$1" \S+ (.*)' returned a non-zero code/s.exec(error);
  if (ours && code !== undefined)
    return new BuildFailure('build', `“${ours[1]}” ended with exit code ${code}.`);
  return new BuildFailure('build', error.slice(0, 2_000));
}

async function* messagesIn(answer: Response): AsyncGenerator<BuildMessage> {
  const decoder = new TextDecoder();
  let kept = '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    kept += decoder.decode(chunk, { stream: true });
    const lines = kept.split('\n');
    kept = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as BuildMessage;
  }
}

/** The engine stops a build whose asker has gone; over once nothing of it runs. */
async function awaitEnd(engine: Engine, mark: string): Promise<void> {
  for (const deadline = Date.now() + endMsMax; Date.now() < deadline; await Bun.sleep(50)) {
    const all = await engine.json<ContainerSummary[]>('GET', '/containers/json', { query: { all: 1 } });
    const found = await Promise.all(
      all.map(({ Id }) => unlessGone(engine.json<ContainerDetail>('GET', `/containers/${Id}/json`))),
    );
    const own = found.filter((one) => one?.HostConfig.ExtraHosts?.some((line) => line.startsWith(mark)));
    if (own.length === 0) return;
    for (const one of own)
      await unlessGone(engine.tell('DELETE', `/containers/${one?.Id}`, { query: { force: 1, v: 1 } })).catch(
        () => {},
      );
  }
}
