import type { Socket } from 'node:net';
import { deployMethods } from '@svc/contract/apps.ts';
import { z } from 'zod';

/**
 * The agent owns the instances and is the only part with rights over them. The server asks it over a Unix socket, one JSON
 * document per line. The list of verbs is closed, and every argument is checked, because the server may have been taken
 * over.
 */
export const protocolVersion = 4;

const id = z.uuid();
const variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());
const limits = z.object({
  cpu: z.number().positive(),
  memoryMb: z.number().int().positive(),
  diskMb: z.number().int().positive(),
});
const artifact = z.record(z.string(), z.unknown());
const method = z.enum(deployMethods);
const command = z.string().nullable();
const plan = z.object({
  installCommand: command,
  buildCommand: command,
  dir: z.string(),
  startCommand: command,
  outputDir: z.string().nullable(),
  dockerfile: z.string().nullable(),
  composeFile: z.string().nullable(),
  language: z.string(),
});
const deployed = {
  tenantId: id,
  appId: id,
  deploymentId: id,
  number: z.number().int().positive(),
  method,
  env: variables,
  limits,
};
const instance = z.object({ instanceId: id });

export const verbs = {
  hello: z.object({ version: z.number() }),
  refuses: z.object({ method, plan }),
  build: z.object({
    ...deployed,
    buildId: id,
    plan,
    tools: z.array(z.string()).optional(),
    services: z.array(z.string()).optional(),
    sourceDir: z.string(),
    isReviewed: z.boolean().optional(),
    liveDeploymentId: id.nullish(),
  }),
  /** Ends the request with this number. */
  abort: z.object({ request: z.number(), reason: z.string() }),
  start: z.object({
    ...deployed,
    instanceId: id,
    artifact,
    command: z.string().optional(),
    services: z.array(z.string()).optional(),
  }),
  run: z.object({
    ...deployed,
    runId: id,
    artifact,
    services: z.array(z.string()).optional(),
    command: z.string().min(1),
    timeoutMs: z.number().positive(),
  }),
  stop: z.object({ instanceId: id, graceMs: z.number().nonnegative() }),
  getState: instance,
  list: z.object({}),
  usage: instance,
  resumeLog: instance,
  /** The lines up to this batch have arrived; others are sent again to the next server. */
  readLog: z.object({ log: id, batch: z.number() }),
  discard: z.object({ artifact }),
  artifacts: z.object({}),
  hasBuild: z.object({ artifact }),
  packBuild: z.object({ artifact, path: z.string() }),
  unpackBuild: z.object({
    artifact,
    path: z.string(),
    number: z.number().int().positive(),
    digest: z.string().nullable(),
  }),
  check: z.object({}),
} as const;

export type Verb = keyof typeof verbs;
export type VerbArgs<V extends Verb> = z.input<(typeof verbs)[V]>;

export interface Hello {
  node: string;
  isSandboxed: boolean;
}

/** What the agent sends: the answer to a request, lines of a log, or that the state of an instance has changed. */
export type Message =
  | { request: number; result: unknown }
  | { request: number; error: { message: string; step?: 'detect' | 'build' } }
  | { log: string; batch: number; lines: LogLine[]; missed: number }
  | { changed: string };

export type LogLine = readonly [stream: 'stdout' | 'stderr' | 'platform', line: string];

/** Above the variables of an app and the longest batch of log lines. */
const lineBytesMax = 16 * 1024 * 1024;

export interface JsonLines {
  send(value: unknown): void;
  /** Bytes that the other side has not read yet. */
  waitingBytes(): number;
  close(): void;
}

export function openJsonLines(socket: Socket, on: { value(value: unknown): void; close(): void }): JsonLines {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineBytesMax) return void socket.destroy();
    for (const line of lines) {
      const value = parse(line);
      if (value === undefined) return void socket.destroy();
      on.value(value);
    }
  });
  socket.on('error', () => socket.destroy());
  socket.once('close', on.close);
  return {
    send: (value) => void socket.write(`${JSON.stringify(value)}\n`),
    waitingBytes: () => socket.writableLength,
    close: () => socket.destroy(),
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
