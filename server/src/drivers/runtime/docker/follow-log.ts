import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { splitLines } from '../process/output.ts';
import type { LogSink } from '../runtime.ts';
import { type DockerDeps, instanceName, labelNames } from './docker-deps.ts';
import { EngineError, ignoreMissing, readFrames, type TaskSummary } from './engine.ts';
import { describeEnd, inspectContainer, listContainers } from './instances.ts';
import { listServiceTasks } from './spread.ts';

export interface LogFollower {
  finish(): Promise<void>;
  stop(): Promise<void>;
}

interface FollowOptions {
  instanceId: string;
  service: string;
  memoryMb: number | null;
  log: LogSink;
  cursor: LogCursor | null;
  onCursor: (cursor: LogCursor) => void;
}

const retryMs = 200;
const finishMsMax = 5_000;

export function followLog(deps: DockerDeps, options: FollowOptions): LogFollower {
  const { engine } = deps;
  const stopping = new AbortController();
  const finishing = Promise.withResolvers<void>();
  let isFinishing = false;
  let cursor = options.cursor;
  let lastEnd = '';
  let loggedRestarts: number | null = cursor === null ? 0 : null;

  async function next(finished: ReadonlySet<string>): Promise<string | null> {
    const all = (await listContainers(engine, options.instanceId)).filter(
      ({ Labels, State }) => Labels[labelNames.service] === options.service && State !== 'created',
    );
    const from = all.findIndex(({ Id }) => Id === cursor?.container);
    const rest = all.slice(Math.max(0, from)).map(({ Id }) => Id);
    return rest.find((id) => !finished.has(id)) ?? rest.at(-1) ?? null;
  }

  async function run(): Promise<void> {
    const finished = new Set<string>();
    while (!stopping.signal.aborted) {
      const isLast = isFinishing;
      try {
        const id = await next(finished);
        if (id !== null) {
          await readLog(id, isLast ? 'rest' : 'follow');
          if (!isLast) await logEnd(id);
          finished.add(id);
        }
        // A Swarm may have started another container meanwhile.
        if (isLast && (id === null || (await next(finished)) === id)) return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (isLast || !(error instanceof EngineError)) throw error;
      }
      if (!isFinishing) await Promise.race([Bun.sleep(retryMs), finishing.promise]);
    }
  }

  async function readLog(id: string, how: 'rest' | 'follow'): Promise<void> {
    const before = cursor?.container === id ? cursor : null;
    await passLines(engine, options, {
      path: `/containers/${id}/logs`,
      container: id,
      before,
      how,
      signal: stopping.signal,
      onCursor: (next) => {
        cursor = next;
      },
    });
  }

  async function logEnd(id: string): Promise<void> {
    const detail = await inspectContainer(engine, id);
    if (isFinishing || !detail) return;
    const { Running: isRunning, Restarting: isWaiting, FinishedAt: at, OOMKilled: isOut } = detail.State;
    if (isRunning && !isWaiting) {
      // The restart was too fast to see the end.
      if (loggedRestarts !== null && detail.RestartCount > loggedRestarts)
        options.log('platform', 'The app exited and was restarted.');
      loggedRestarts = detail.RestartCount;
      return;
    }
    loggedRestarts = detail.RestartCount + 1;
    if (`${id} ${at}` === lastEnd) return;
    lastEnd = `${id} ${at}`;
    const limit = isOut && options.memoryMb !== null ? ` (${options.memoryMb} MiB)` : '';
    options.log('platform', `The app ${describeEnd(detail)}${limit}.`);
  }

  const running = run().catch((error: unknown) => {
    if (!stopping.signal.aborted)
      deps.log.warn({ err: error, instance: options.instanceId }, 'following the log of an app failed');
  });
  return {
    async finish() {
      isFinishing = true;
      finishing.resolve();
      await Promise.race([running, Bun.sleep(finishMsMax)]);
      stopping.abort(new Error('The instance has ended.'));
      await running;
    },
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      await running;
    },
  };
}

export interface LogCursor {
  container: string;
  at: string;
  seen: number;
}

interface LogReading {
  path: string;
  container: string;
  before: LogCursor | null;
  how: 'follow' | 'rest';
  signal: AbortSignal;
  onCursor: (cursor: LogCursor) => void;
}

/** The engine counts `since` in times that several lines may have: those that were logged before are skipped. */
async function passLines(
  engine: DockerDeps['engine'],
  options: FollowOptions,
  { path, container, before, how, signal, onCursor }: LogReading,
): Promise<void> {
  let seenBefore = before?.seen ?? 0;
  let cursor = before;
  const since = before ? toSince(before.at) : undefined;
  const query = { stdout: 1, stderr: 1, timestamps: 1, follow: how === 'follow' ? 1 : 0, since };
  const answer = await ignoreMissing(engine.stream('GET', path, { query, signal }));
  if (!answer) return;
  const lines = {
    stdout: splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => options.log('stdout', line) }),
    stderr: splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => options.log('stderr', line) }),
  };
  try {
    for await (const { stream, bytes } of readFrames(answer.body as unknown as AsyncIterable<Uint8Array>)) {
      const space = bytes.indexOf(0x20);
      const at = Buffer.from(bytes.subarray(0, space)).toString('latin1');
      if (before && (at < before.at || (at === before.at && seenBefore-- > 0))) continue;
      lines[stream].take(bytes.subarray(space + 1));
      cursor = { container, at, seen: cursor?.at === at ? cursor.seen + 1 : 1 };
      onCursor(cursor);
      options.onCursor(cursor);
    }
  } finally {
    lines.stdout.end();
    lines.stderr.end();
  }
}

function toSince(at: string): string {
  const [whole = '', part = '0'] = at.replace(/Z$/, '').split('.');
  return `${Date.parse(`${whole}Z`) / 1_000}.${part.padEnd(9, '0')}`;
}

const serviceRetryMs = 500;
const serviceFinishMsMax = 5_000;
const endsEveryMs = 1_000;

/** The lines of a service, whichever nodes its containers are on. */
export function followServiceLog(deps: DockerDeps, options: FollowOptions): LogFollower {
  const stopping = new AbortController();
  const name = instanceName(options.instanceId);
  let cursor: LogCursor | null = options.cursor;
  let isFinishing = false;
  let reading = new AbortController();
  const finishing = Promise.withResolvers<void>();

  async function read(how: 'follow' | 'rest'): Promise<void> {
    reading = new AbortController();
    await passLines(deps.engine, options, {
      path: `/services/${name}/logs`,
      container: name,
      before: cursor,
      how,
      signal: AbortSignal.any([stopping.signal, reading.signal]),
      onCursor: (next) => {
        cursor = next;
      },
    });
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const isLast = isFinishing;
      try {
        await read(isLast ? 'rest' : 'follow');
      } catch (error) {
        // A connection that ends during a response is no `EngineError`.
        if (stopping.signal.aborted || (isLast && error instanceof EngineError)) return;
      }
      if (isLast) return;
      if (!isFinishing) await Bun.sleep(serviceRetryMs);
    }
  }

  /** Only containers on this node can be asked whether they had too little memory. */
  async function describeTask({ NodeID, Status }: TaskSummary): Promise<string> {
    const { ContainerID = '', ExitCode: code = -1 } = Status.ContainerStatus ?? {};
    const detail = NodeID === deps.swarmNode ? await inspectContainer(deps.engine, ContainerID) : null;
    const limit = detail?.State.OOMKilled && options.memoryMb !== null ? ` (${options.memoryMb} MiB)` : '';
    if (detail) return `${describeEnd(detail)}${limit}`;
    return code === 137
      ? 'was killed (exit code 137): it may have run out of memory'
      : `ended with exit code ${code}`;
  }

  async function logEnds(): Promise<void> {
    let seen: Set<string> | null = options.cursor === null ? new Set() : null;
    while (!stopping.signal.aborted && !isFinishing) {
      const tasks = await listServiceTasks(deps.engine, name).catch(() => []);
      const over = tasks.filter(({ Status }) => Status.State === 'failed' || Status.State === 'complete');
      if (seen !== null && !isFinishing)
        for (const task of over)
          if (!seen.has(task.ID)) options.log('platform', `The app ${await describeTask(task)}.`);
      seen = new Set([...(seen ?? []), ...over.map(({ ID }) => ID)]);
      await Promise.race([Bun.sleep(endsEveryMs), finishing.promise]);
    }
  }

  const running = Promise.all([run(), logEnds()]).catch((error: unknown) =>
    deps.log.warn({ err: error, instance: options.instanceId }, 'following the log of an app failed'),
  );
  return {
    async finish() {
      isFinishing = true;
      finishing.resolve();
      reading.abort();
      await Promise.race([running, Bun.sleep(serviceFinishMsMax)]);
      stopping.abort(new Error('The instance has ended.'));
      await running;
    },
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      finishing.resolve();
      await running;
    },
  };
}
