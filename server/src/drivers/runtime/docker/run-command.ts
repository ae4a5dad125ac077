import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { splitLines } from '../process/output.ts';
import { timeLimitText } from '../process/run-command.ts';
import type { LogSink, RunJob, RunResult } from '../runtime.ts';
import { ensureImage } from './build-image.ts';
import { startComposeCommand } from './compose/start-compose.ts';
import {
  type ComposeArtifact,
  type DockerDeps,
  type ImageArtifact,
  instanceLabels,
  instanceName,
  labelNames,
  parseArtifact,
} from './docker-deps.ts';
import { ignoreMissing, readFrames } from './engine.ts';
import { describeEnd, inspectContainer } from './instances.ts';
import { removeInstance } from './remove-instance.ts';
import { containerVariables, hostConfig, shellWords } from './start-instance.ts';

const stopGraceSeconds = 10;

/** A container of the app's image or main service, on the engine of this server also in a Swarm; removed when it ends. */
export async function runCommand(deps: DockerDeps, job: RunJob): Promise<RunResult> {
  const { engine } = deps;
  const artifact = job.method === 'static' ? null : parseArtifact(job.artifact);
  if (!artifact) throw new Error('A site runs no commands.');
  job.signal.throwIfAborted();
  const { runId } = job;
  let container = instanceName(runId);
  const late = AbortSignal.timeout(job.timeoutMs);
  const stopping = AbortSignal.any([job.signal, late]);
  const onStop = () =>
    void engine
      .send('POST', `/containers/${container}/stop`, {
        query: { t: stopGraceSeconds },
        timeoutMs: (stopGraceSeconds + 30) * 1_000,
      })
      .catch((error: unknown) => deps.log.warn({ err: error, run: runId }, 'stop of a run failed'));
  try {
    await deps.firewall.open(runId, job.services ?? []);
    container = await startContainer(deps, { ...job, signal: stopping }, artifact);
    deps.diskLimits.add({ instanceId: runId, diskMb: job.limits.diskMb, log: job.log });
    stopping.addEventListener('abort', onStop, { once: true });
    if (stopping.aborted) onStop();
    await followOutput(deps, { container, log: job.log, timeoutMs: job.timeoutMs });
    job.signal.throwIfAborted();
    if (late.aborted) return { exitCode: null, how: timeLimitText(job) };
    const reason = deps.diskLimits.reason(runId);
    if (reason !== null) return { exitCode: null, how: reason };
    const detail = await inspectContainer(engine, container);
    if (!detail) return { exitCode: null, how: 'was removed' };
    const { ExitCode: code, OOMKilled: isOutOfMemory } = detail.State;
    if (isOutOfMemory) return { exitCode: null, how: `ran out of memory (${job.limits.memoryMb} MiB)` };
    return { exitCode: code, how: describeEnd(detail) };
  } finally {
    stopping.removeEventListener('abort', onStop);
    await removeInstance(deps, runId, { graceMs: 0, afterEnd: async () => {} });
    deps.diskLimits.remove(runId);
    deps.firewall.forget(runId);
  }
}

async function startContainer(
  deps: DockerDeps,
  job: RunJob,
  artifact: ImageArtifact | ComposeArtifact,
): Promise<string> {
  if (artifact.kind === 'compose') return startComposeCommand(deps, job, artifact);
  const name = instanceName(job.runId);
  await ensureImage(deps, artifact, job.signal);
  const body = await commandSpec(deps, job, artifact);
  await deps.engine.send('POST', '/containers/create', { query: { name }, body });
  await deps.engine.send('POST', `/containers/${name}/start`);
  return name;
}

async function commandSpec(deps: DockerDeps, job: RunJob, artifact: ImageArtifact) {
  const { run, imageId, port } = artifact;
  const labels = instanceLabels(deps, { ...job, instanceId: job.runId }, { service: 'app', port: null });
  return {
    Image: imageId,
    Env: containerVariables(job.env, port),
    Labels: { ...labels, [labelNames.run]: job.runId },
    Cmd: shellWords(job.command),
    Entrypoint: [],
    ...(run && { WorkingDir: run.dir, User: run.user }),
    HostConfig: await hostConfig(deps, job),
  };
}

/** Stops at `timeoutMs` end the container; this is for an engine that no longer answers. */
const afterTimeoutMs = 60_000;

/**
 * Ends with the container. The engine may end the first answer before the last lines, so that they are read again: of up to 10 MB,
 * after which it has dropped the beginning.
 */
export async function followOutput(
  { engine }: DockerDeps,
  options: { container: string; log: LogSink; timeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  const { container, log, timeoutMs } = options;
  const late = AbortSignal.timeout(timeoutMs + afterTimeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
  const linesOf = (stream: 'stdout' | 'stderr') =>
    splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => log(stream, line) });
  const lines = { stdout: linesOf('stdout'), stderr: linesOf('stderr') };
  const seen = { stdout: 0, stderr: 0 };
  const read = async (follow: 0 | 1) => {
    const known = { ...seen };
    const query = { stdout: 1, stderr: 1, follow };
    const path = `/containers/${container}/logs`;
    const answer = await ignoreMissing(engine.stream('GET', path, { query, signal }));
    if (!answer) return;
    for await (const { stream, bytes } of readFrames(answer.body as unknown as AsyncIterable<Uint8Array>)) {
      const skipped = Math.min(known[stream], bytes.length);
      known[stream] -= skipped;
      if (skipped === bytes.length) continue;
      for (let wait = log.ready?.(); wait; wait = log.ready?.()) await wait;
      lines[stream].take(bytes.subarray(skipped));
      seen[stream] += bytes.length - skipped;
    }
  };
  try {
    await read(1);
    const call = { timeoutMs: timeoutMs + afterTimeoutMs, signal };
    await engine.send('POST', `/containers/${container}/wait`, call);
    await read(0);
  } finally {
    lines.stdout.end();
    lines.stderr.end();
  }
}
