import { createConnection } from 'node:net';
import { adaptTo } from '../process/process-runtime.ts';
import { BuildError, type LogSink, type Runtime, type StartJob } from '../runtime.ts';
import {
  type Hello,
  type JsonLines,
  type Message,
  openJsonLines,
  protocolVersion,
  type Verb,
  type VerbArgs,
} from './protocol.ts';

const reconnectMs = 100;
const connectMsMax = 10_000;

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** The process runtime, in the agent. Closing it leaves the instances running. */
export async function connectAgent(socketPath: string, gatewayPort: number | null): Promise<Runtime> {
  const pending = new Map<number, Pending>();
  const sinks = new Map<string, LogSink>();
  const listeners = new Set<(instanceId: string) => void>();
  let lastRequest = 0;
  let isClosed = false;
  let connection = connect();

  async function connect(): Promise<JsonLines> {
    for (const deadline = Date.now() + connectMsMax; ; await Bun.sleep(reconnectMs)) {
      const lines = await tryConnect();
      if (lines) return lines;
      if (isClosed || Date.now() > deadline) throw new Error('The agent, which runs apps, is not available.');
    }
  }

  function tryConnect(): Promise<JsonLines | null> {
    return new Promise((resolve) => {
      const socket = createConnection(socketPath);
      socket.once('error', () => resolve(null));
      socket.once('connect', () => resolve(openJsonLines(socket, { value: receive, close: onClose })));
    });
  }

  function onClose(): void {
    for (const { reject } of pending.values()) reject(new Error('The connection to the agent was lost.'));
    pending.clear();
    if (isClosed) return;
    connection = connect();
    connection.catch(() => {});
  }

  function receive(value: unknown): void {
    const message = value as Message;
    if ('changed' in message) {
      for (const listener of listeners) listener(message.changed);
    } else if ('log' in message) {
      const sink = sinks.get(message.log);
      for (const [stream, line] of message.lines) sink?.(stream, line);
      if (message.missed > 0) sink?.miss?.(message.missed);
      if (sink) void acknowledge(sink, message);
    } else {
      const waiting = pending.get(message.request);
      pending.delete(message.request);
      if ('result' in message) waiting?.resolve(message.result);
      else waiting?.reject(toError(message.error));
    }
  }

  /** A log that is stored whole gets more lines when it has stored these. */
  async function acknowledge(
    sink: LogSink,
    { log, batch }: Extract<Message, { log: string }>,
  ): Promise<void> {
    for (let wait = sink.ready?.(); wait; wait = sink.ready?.()) await wait;
    await ask('readLog', { log, batch }).catch(() => {});
  }

  async function ask<T, V extends Verb = Verb>(
    verb: V,
    args: VerbArgs<V>,
    onSent?: (request: number) => void,
  ): Promise<T> {
    const lines = await connection;
    const request = ++lastRequest;
    return new Promise<T>((resolve, reject) => {
      pending.set(request, { resolve: resolve as Pending['resolve'], reject });
      lines.send({ request, verb, args });
      onSent?.(request);
    });
  }

  async function abortable<T, V extends 'build' | 'run'>(
    verb: V,
    args: VerbArgs<V>,
    { id, log, signal }: { id: string; log: LogSink; signal: AbortSignal },
  ): Promise<T> {
    signal.throwIfAborted();
    sinks.set(id, log);
    let onAbort = () => {};
    try {
      return await ask<T, V>(verb, args, (request) => {
        onAbort = () => void ask('abort', { request, reason: String(signal.reason) }).catch(() => {});
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      sinks.delete(id);
    }
  }

  function start({ log, signal, ...job }: StartJob) {
    signal?.throwIfAborted();
    sinks.set(job.instanceId, log);
    return ask<Awaited<ReturnType<Runtime['start']>>>('start', {
      ...job,
      services: job.services ? [...job.services] : undefined,
    });
  }

  const { node, isSandboxed } = await ask<Hello>('hello', { version: protocolVersion });
  return {
    kind: 'process',
    node,
    endsWithServer: false,
    refuses: (requirements) => ask('refuses', requirements),
    build: ({ log, signal, ...job }) =>
      abortable(
        'build',
        { ...job, services: job.services ? [...job.services] : undefined },
        { id: job.buildId, log, signal },
      ),
    start,
    run: ({ log, signal, ...job }) =>
      abortable(
        'run',
        { ...job, services: job.services ? [...job.services] : undefined },
        { id: job.runId, log, signal },
      ),
    async stop({ instanceId }, { graceMs }) {
      await ask('stop', { instanceId, graceMs });
      sinks.delete(instanceId);
    },
    getState: ({ instanceId }) => ask('getState', { instanceId }),
    onStateChange: (listener) => void listeners.add(listener),
    list: () => ask('list', {}),
    usage: ({ instanceId }) => ask('usage', { instanceId }),
    async resumeLog({ instanceId }, log) {
      sinks.set(instanceId, log);
      await ask('resumeLog', { instanceId });
    },
    adaptVariables: adaptTo(isSandboxed ? gatewayPort : null),
    async discard(artifact) {
      await ask('discard', { artifact });
    },
    artifacts: () => ask('artifacts', {}),
    hasBuild: (artifact) => ask('hasBuild', { artifact }),
    async packBuild(artifact, { path }) {
      await ask('packBuild', { artifact, path });
    },
    async unpackBuild(artifact, { path, number, digest }) {
      await ask('unpackBuild', { artifact, path, number, digest });
    },
    check: () => ask('check', {}),
    async close() {
      isClosed = true;
      (await connection.catch(() => null))?.close();
    },
  };
}

function toError({ message, step }: { message: string; step?: 'detect' | 'build' }): Error {
  return step ? new BuildError(step, message) : new Error(message);
}
