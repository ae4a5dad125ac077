import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Logger } from 'pino';
import type { ProcessRuntime } from '../process/process-runtime.ts';
import { takeFolder } from '../process/trees.ts';
import { BuildError, type LogSink } from '../runtime.ts';
import {
  type Hello,
  type JsonLines,
  type LogLine,
  type Message,
  openJsonLines,
  protocolVersion,
  type Verb,
  verbs,
} from './protocol.ts';

export interface Agent {
  close(): Promise<void>;
}

interface Client {
  lines: JsonLines;
  /** Builds and runs end with the connection: a server that comes back builds again. */
  aborts: Map<number, AbortController>;
}

/** Instances go on while no server is connected. */
export async function serveAgent(options: {
  runtime: ProcessRuntime;
  socketPath: string;
  /** The source of a build lies below it. */
  workFolder: string;
  /** Null: the same as the agent's. */
  serverUser: { uid: number; gid: number } | null;
  log: Logger;
}): Promise<Agent> {
  const { runtime, socketPath, workFolder, serverUser, log } = options;
  const takenFolder = join(dirname(workFolder), 'sources');
  const clients = new Set<Client>();
  const buffers = new Map<string, LogBuffer>();
  const send = (client: Client, message: Message) => client.lines.send(message);
  runtime.onStateChange?.((instanceId) => {
    for (const client of clients) send(client, { changed: instanceId });
  });

  function bufferOf(instanceId: string): LogBuffer {
    const buffer = buffers.get(instanceId) ?? createLogBuffer(instanceId, { isWhole: false });
    buffers.set(instanceId, buffer);
    return buffer;
  }

  async function run(client: Client, request: number, verb: Verb, args: unknown): Promise<unknown> {
    switch (verb) {
      case 'hello': {
        const { version } = verbs.hello.parse(args);
        if (version !== protocolVersion) throw new Error(`The agent speaks version ${protocolVersion}.`);
        return { node: runtime.node, isSandboxed: runtime.isSandboxed } satisfies Hello;
      }
      case 'refuses':
        return runtime.refuses(verbs.refuses.parse(args));
      case 'build':
        return build(client, request, verbs.build.parse(args));
      case 'abort': {
        const { request: ended, reason } = verbs.abort.parse(args);
        client.aborts.get(ended)?.abort(new Error(reason));
        return null;
      }
      case 'start': {
        const job = verbs.start.parse(args);
        const buffer = bufferOf(job.instanceId);
        buffer.attach(client.lines);
        return runtime.start({ ...job, log: buffer.sink });
      }
      case 'run': {
        const job = verbs.run.parse(args);
        return abortable(client, request, job.runId, (log, signal) => runtime.run({ ...job, log, signal }));
      }
      case 'stop': {
        const { instanceId, graceMs } = verbs.stop.parse(args);
        await runtime.stop({ instanceId, handle: {} }, { graceMs });
        buffers.get(instanceId)?.flush();
        buffers.delete(instanceId);
        return null;
      }
      case 'getState':
        return runtime.getState({ ...verbs.getState.parse(args), handle: {} });
      case 'list':
        return runtime.list();
      case 'usage':
        return runtime.usage({ ...verbs.usage.parse(args), handle: {} });
      case 'resumeLog':
        buffers.get(verbs.resumeLog.parse(args).instanceId)?.attach(client.lines);
        return null;
      case 'readLog': {
        const { log: name, batch } = verbs.readLog.parse(args);
        buffers.get(name)?.acknowledge(batch);
        return null;
      }
      case 'discard':
        await runtime.discard(verbs.discard.parse(args).artifact);
        return null;
      case 'artifacts':
        return (await runtime.artifacts?.()) ?? [];
      case 'hasBuild':
        return runtime.hasBuild?.(verbs.hasBuild.parse(args).artifact);
      case 'packBuild': {
        const { artifact, path } = verbs.packBuild.parse(args);
        return runtime.packBuild(artifact, { path: await requireInWorkFolder(path), openedBy: serverUser });
      }
      case 'unpackBuild': {
        const { artifact, path, ...file } = verbs.unpackBuild.parse(args);
        const from = await requireInWorkFolder(path);
        return runtime.unpackBuild(artifact, { ...file, path: from, openedBy: serverUser });
      }
      case 'check':
        return runtime.check();
    }
  }

  async function requireInWorkFolder(path: string): Promise<string> {
    const [folder, work] = [await realpath(dirname(path)), await realpath(workFolder)];
    if (folder !== work && !isBelow(folder, work)) throw new Error(`${path} is not below ${workFolder}.`);
    return join(folder, basename(path));
  }

  async function build(client: Client, request: number, job: ReturnType<typeof verbs.build.parse>) {
    const { sourceDir } = job;
    if (!serverUser && !isBelow(await realpath(sourceDir), await realpath(workFolder)))
      throw new Error(`The source is not below ${workFolder}.`);
    const taken =
      serverUser &&
      (await takeFolder(sourceDir, { below: workFolder, into: takenFolder, owner: serverUser }));
    const path = taken?.path ?? sourceDir;
    try {
      const built = await abortable(client, request, job.buildId, (log, signal) =>
        runtime.build({ ...job, sourceDir: path, log, signal }),
      );
      const { filesDir } = built;
      return { ...built, filesDir: filesDir && join(sourceDir, relative(await realpath(path), filesDir)) };
    } finally {
      // The server reads the files of a site, and removes the folder.
      await taken?.giveBack();
    }
  }

  async function abortable<T>(
    client: Client,
    request: number,
    id: string,
    work: (log: LogSink, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const stopping = new AbortController();
    client.aborts.set(request, stopping);
    const buffer = createLogBuffer(id, { isWhole: true });
    buffers.set(id, buffer);
    buffer.attach(client.lines);
    try {
      return await work(buffer.sink, stopping.signal);
    } finally {
      buffer.flush();
      buffers.delete(id);
      client.aborts.delete(request);
    }
  }

  async function answer(client: Client, value: unknown): Promise<void> {
    const { request, verb, args } = value as { request?: unknown; verb?: unknown; args?: unknown };
    if (typeof request !== 'number' || typeof verb !== 'string' || !Object.hasOwn(verbs, verb))
      return client.lines.close();
    try {
      send(client, { request, result: (await run(client, request, verb as Verb, args)) ?? null });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const step = error instanceof BuildError ? { step: error.step } : {};
      send(client, { request, error: { message, ...step } });
    }
  }

  const server = createServer((socket) => {
    const client: Client = {
      aborts: new Map(),
      lines: openJsonLines(socket, {
        value: (value) => void answer(client, value),
        close() {
          clients.delete(client);
          for (const each of client.aborts.values()) each.abort(new Error('The server has ended.'));
          for (const buffer of buffers.values()) buffer.detach(client.lines);
        },
      }),
    };
    clients.add(client);
  });
  rmSync(socketPath, { force: true });
  // Of an agent that was killed.
  rmSync(takenFolder, { recursive: true, force: true });
  mkdirSync(takenFolder);
  chmodSync(takenFolder, 0o711);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => resolve());
  });
  chmodSync(socketPath, 0o600);
  if (serverUser)
    for (const path of [socketPath, workFolder]) chownSync(path, serverUser.uid, serverUser.gid);
  log.info({ socket: socketPath }, 'the agent is ready');
  return {
    async close() {
      server.close();
      for (const { lines } of clients) lines.close();
      await runtime.close();
      rmSync(socketPath, { force: true });
    },
  };
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder + sep);
}

interface LogBuffer {
  sink: LogSink;
  attach(target: JsonLines): void;
  detach(target: JsonLines): void;
  /** The server has these lines. */
  acknowledge(batch: number): void;
  flush(): void;
}

type LogBatch = Extract<Message, { batch: number }>;

/** Lines are sent together, so that a talkative app costs few messages. */
const sendEveryMs = 20;
/** While no server reads: the last lines of an instance. */
const keptLinesMax = 2_000;
const keptBytesMax = 512 * 1024;
const waitingBytesMax = 1024 * 1024;
/** Of a build or a run: its program is not read while the server has not stored more lines than this. */
const unreadLinesMax = 2_000;
const unreadBytesMax = 1024 * 1024;

/** Keeps lines until a server has them. Of an instance the oldest go first, and are counted; a build or run waits. */
function createLogBuffer(name: string, { isWhole }: { isWhole: boolean }): LogBuffer {
  let lines: LogLine[] = [];
  let missed = 0;
  /** Lines that the server has not acknowledged. */
  const open = { lines: 0, bytes: 0 };
  let waiting: PromiseWithResolvers<void> | null = null;
  let unread: { batch: LogBatch; target: JsonLines }[] = [];
  let lastBatch = 0;
  let target: JsonLines | null = null;
  let _timer: Timer | null = null;

  function flush(): void {
    _timer = null;
    if (!target || (lines.length === 0 && missed === 0)) return;
    const batch: LogBatch = { log: name, batch: ++lastBatch, lines, missed };
    unread.push({ batch, target });
    target.send(batch);
    lines = [];
    missed = 0;
  }

  function dropOldest(): void {
    let bytes = lines.reduce((sum, [, line]) => sum + line.length, 0);
    let count = 0;
    while (lines.length - count > keptLinesMax || bytes > keptBytesMax) {
      bytes -= lines[count]?.[1].length ?? 0;
      count += 1;
    }
    lines = lines.slice(count);
    missed += count;
  }

  const canTake = () => !target || (open.lines < unreadLinesMax && open.bytes < unreadBytesMax);

  function resumeReading(): void {
    if (!canTake()) return;
    waiting?.resolve();
    waiting = null;
  }

  function ready(): Promise<void> | null {
    if (canTake()) return null;
    waiting ??= Promise.withResolvers();
    return waiting.promise;
  }

  const sink: LogSink = Object.assign(
    (stream: LogLine[0], line: string) => {
      lines.push([stream, line]);
      open.lines += 1;
      open.bytes += line.length;
      if (target) _timer ??= setTimeout(flush, sendEveryMs);
      else if (lines.length > 2 * keptLinesMax) dropOldest();
    },
    {
      ...(isWhole && { ready }),
      isFull: () => !isWhole && target !== null && target.waitingBytes() > waitingBytesMax,
      miss: (count: number) => {
        missed += count;
      },
    },
  );

  return {
    sink,
    attach(next) {
      target = next;
      flush();
    },
    detach(gone) {
      if (target === gone) target = null;
      // Another server may have taken over before this one had read all.
      const lost = unread.filter((sent) => sent.target === gone).map(({ batch }) => batch);
      unread = unread.filter((sent) => sent.target !== gone);
      lines = [...lost.flatMap((batch) => batch.lines), ...lines];
      missed += lost.reduce((sum, batch) => sum + batch.missed, 0);
      if (target) flush();
      else dropOldest();
      resumeReading();
    },
    acknowledge(batch) {
      for (const sent of unread.filter((each) => each.batch.batch <= batch)) {
        open.lines -= sent.batch.lines.length;
        for (const [, line] of sent.batch.lines) open.bytes -= line.length;
      }
      unread = unread.filter((sent) => sent.batch.batch > batch);
      resumeReading();
    },
    flush,
  };
}
