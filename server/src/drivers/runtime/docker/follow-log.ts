import { logLineBytesMax } from '@svc/contract/deployments.ts';
import { splitLines } from '../process/line-splitter.ts';
import type { LogSink } from '../runtime.ts';
import { EngineError, unlessGone } from './engine.ts';
import { readFrames } from './frames.ts';
import { containersOf, detailOf, endingOf } from './instances.ts';
import { labelNames } from './labels.ts';
import { type LogCursor, sinceOf } from './log-cursor.ts';
import type { Parts } from './parts.ts';

export interface Following {
  /** Once what it follows has ended: hears the last of it. */
  finish(): Promise<void>;
  /** The server ends: what is said from now on is heard by the next one. */
  stop(): Promise<void>;
}

export interface FollowWish {
  instanceId: string;
  /** Of a compose app. */
  service: string;
  memoryMb: number | null;
  log: LogSink;
  cursor: LogCursor | null;
  onCursor: (cursor: LogCursor) => void;
}

const againMs = 200;
const finishMsMax = 5_000;

/** One service of an instance, from container to container as it is started again. */
export function followLog(parts: Parts, wish: FollowWish): Following {
  const { engine } = parts;
  const stopping = new AbortController();
  const finishing = Promise.withResolvers<void>();
  let isFinishing = false;
  let cursor = wish.cursor;
  let toldEnd = '';
  /** Null: how often it had been started before this is not known. */
  let restartsTold: number | null = cursor === null ? 0 : null;

  /** The oldest that has not been heard to its end. */
  async function next(heard: ReadonlySet<string>): Promise<string | null> {
    const all = (await containersOf(engine, wish.instanceId)).filter(
      ({ Labels, State }) => Labels[labelNames.service] === wish.service && State !== 'created',
    );
    const from = all.findIndex(({ Id }) => Id === cursor?.container);
    const rest = all.slice(Math.max(0, from)).map(({ Id }) => Id);
    return rest.find((id) => !heard.has(id)) ?? rest.at(-1) ?? null;
  }

  async function run(): Promise<void> {
    const heard = new Set<string>();
    while (!stopping.signal.aborted) {
      const isLast = isFinishing;
      try {
        const id = await next(heard);
        if (id !== null) {
          await hear(id, isLast ? 'to its end' : 'on and on');
          if (!isLast) await tellEnd(id);
          heard.add(id);
        }
        // A Swarm may have started another meanwhile, which has its turn.
        if (isLast && (id === null || (await next(heard)) === id)) return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        if (isLast || !(error instanceof EngineError)) throw error;
      }
      if (!isFinishing) await Promise.race([Bun.sleep(againMs), finishing.promise]);
    }
  }

  async function hear(id: string, how: 'to its end' | 'on and on'): Promise<void> {
    const before = cursor?.container === id ? cursor : null;
    let seenBefore = before?.seen ?? 0;
    const answer = await unlessGone(
      engine.stream('GET', `/containers/${id}/logs`, {
        query: {
          ...{ stdout: 1, stderr: 1, timestamps: 1, follow: how === 'on and on' ? 1 : 0 },
          since: before ? sinceOf(before.at) : undefined,
        },
        signal: stopping.signal,
      }),
    );
    if (!answer) return;
    const lines = {
      stdout: splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => wish.log('stdout', line) }),
      stderr: splitLines({ lineBytesMax: logLineBytesMax, onLine: (line) => wish.log('stderr', line) }),
    };
    try {
      for await (const { stream, bytes } of readFrames(answer.body as unknown as AsyncIterable<Uint8Array>)) {
        const space = bytes.indexOf(0x20);
        const at = Buffer.from(bytes.subarray(0, space)).toString('latin1');
        if (before && (at < before.at || (at === before.at && seenBefore-- > 0))) continue;
        lines[stream].take(bytes.subarray(space + 1));
        const sameTime = cursor?.container === id && cursor.at === at;
        cursor = { container: id, at, seen: sameTime ? (cursor?.seen ?? 0) + 1 : 1 };
        wish.onCursor(cursor);
      }
    } finally {
      lines.stdout.end();
      lines.stderr.end();
    }
  }

  async function tellEnd(id: string): Promise<void> {
    const detail = await detailOf(engine, id);
    if (isFinishing || !detail) return;
    const { Running: isRunning, Restarting: isWaiting, FinishedAt: at, OOMKilled: isOut } = detail.State;
    if (isRunning && !isWaiting) {
      // So soon that nobody saw how it had ended.
      if (restartsTold !== null && detail.RestartCount > restartsTold)
        wish.log('platform', 'The app ended, and was started again.');
      restartsTold = detail.RestartCount;
      return;
    }
    restartsTold = detail.RestartCount + 1;
    if (`${id} ${at}` === toldEnd) return;
    toldEnd = `${id} ${at}`;
    const limit = isOut && wish.memoryMb !== null ? ` (${wish.memoryMb} MiB)` : '';
    wish.log('platform', `The app ${endingOf(detail)}${limit}.`);
  }

  const running = run().catch((error: unknown) => {
    if (!stopping.signal.aborted)
      parts.log.warn({ err: error, instance: wish.instanceId }, 'the log of an app is not heard any more');
  });
  return {
    async finish() {
      isFinishing = true;
      finishing.resolve();
      await Promise.race([running, Bun.sleep(finishMsMax)]);
      stopping.abort(new Error('It has ended.'));
      await running;
    },
    async stop() {
      stopping.abort(new Error('The server is stopping.'));
      await running;
    },
  };
}
