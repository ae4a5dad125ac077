import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { splitLines } from '../process/line-splitter.ts';
import { BuildFailure, type BuildJob } from '../runtime.ts';
import { appsNetwork } from './apps-network.ts';
import { buildLimits } from './build-image.ts';
import { appUser, folderOf } from './dockerfile.ts';
import { unlessGone } from './engine.ts';
import { readFrames } from './frames.ts';
import { detailOf } from './instances.ts';
import { labelsOfBuild } from './labels.ts';
import type { Parts } from './parts.ts';
import { LogConfig, pidsMax } from './start-container.ts';

/** Each command in turn; before each a line that only we know, by which it is told where one ends and the next begins. */
const script = `cd -- "$0" && export HOME=/tmp && mark="$1" && shift
for command in "$@"; do echo "$mark"; /bin/sh -c "$command" || exit; done`;

/** A container of the image that is to be copied from: the app's commands, which get its variables, run in it and not in an image. */
export async function createBuildContainer(
  parts: Parts,
  job: BuildJob,
  wish: { imageId: string; commands: readonly string[]; mark: string },
): Promise<string> {
  const { engine } = parts;
  const { memory, cpu } = buildLimits(job);
  const env = { ...parts.buildVariables, ...job.env };
  const created = await engine.json<{ Id: string }>('POST', '/containers/create', {
    body: {
      Image: wish.imageId,
      Entrypoint: [],
      Cmd: ['/bin/sh', '-c', script, folderOf(job.plan), wish.mark, ...wish.commands],
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      User: appUser,
      Labels: labelsOfBuild(parts, job),
      HostConfig: {
        Init: true,
        Memory: memory,
        MemorySwap: memory,
        NanoCpus: Math.round(cpu * 1e9),
        PidsLimit: pidsMax,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        LogConfig,
        NetworkMode: await appsNetwork(parts),
        ExtraHosts: ['host.docker.internal:host-gateway'],
      },
    },
  });
  return created.Id;
}

/** To their end; what they say is told. Whoever made the container removes it. */
export async function runCommands(
  parts: Parts,
  job: BuildJob,
  wish: { container: string; commands: readonly string[]; mark: string },
): Promise<void> {
  const { engine } = parts;
  const { container, commands, mark } = wish;
  const late = AbortSignal.timeout(parts.buildMsMax);
  const signal = AbortSignal.any([job.signal, late]);
  let begun = 0;
  const lines = {
    stdout: splitLines({
      lineBytesMax: logLineBytesMax,
      onLine(line) {
        if (line === mark) job.log('platform', `$ ${commands[begun++] ?? ''}`);
        else job.log('stdout', line);
      },
    }),
    stderr: splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => job.log('stderr', line) }),
  };
  try {
    await engine.tell('POST', `/containers/${container}/start`, { signal });
    const query = { stdout: 1, stderr: 1, follow: 1 };
    const answer = await engine.stream('GET', `/containers/${container}/logs`, { query, signal });
    for await (const { stream, bytes } of readFrames(answer.body as unknown as AsyncIterable<Uint8Array>))
      lines[stream].take(bytes);
    await engine.tell('POST', `/containers/${container}/wait`, { signal, timeoutMs: parts.buildMsMax });
  } catch (error) {
    if (!signal.aborted) throw error;
    // Nothing of it runs any more once the answer is there.
    await unlessGone(engine.tell('DELETE', `/containers/${container}`, { query: { force: 1, v: 1 } }));
    job.signal.throwIfAborted();
    const minutes = Math.round(parts.buildMsMax / 6_000) / 10;
    throw new BuildFailure('build', `The build took longer than ${minutes} minutes.`);
  } finally {
    lines.stdout.end();
    lines.stderr.end();
  }
  const detail = await detailOf(engine, container);
  const { ExitCode: code = -1, OOMKilled: isOut = false } = detail?.State ?? {};
  if (isOut) throw new BuildFailure('build', 'The build was out of memory.');
  if (code !== 0)
    throw new BuildFailure('build', `“${commands[begun - 1] ?? ''}” ended with exit code ${code}.`);
}
