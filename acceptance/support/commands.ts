import { expect } from 'bun:test';
import { join } from 'node:path';
import { runSvc } from '../../cli/testing/run-svc.ts';
import { endWith, type RunningServer, root, temporaryFolder } from './server.ts';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
  /** Parses stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
}

export async function run(
  command: string[],
  options: { env?: Record<string, string | undefined>; cwd?: string; stdin?: string } = {},
): Promise<Ran> {
  const child = Bun.spawn(command, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env } as Record<string, string>,
    stdin: options.stdin === undefined ? 'ignore' : new Blob([options.stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return ran(code, stdout, stderr);
}

function ran(code: number, stdout: string, stderr: string): Ran {
  return {
    code,
    stdout,
    stderr,
    json: <T>() => {
      try {
        return JSON.parse(stdout) as T;
      } catch {
        throw new Error(`Not JSON (exit ${code}): ${stdout}\n${stderr}`);
      }
    },
  };
}

/** Runs `./svc-admin`; with standard input in a process of its own. */
export async function admin<T = Record<string, string>>(
  server: RunningServer,
  args: string[],
  stdin?: string,
): Promise<T> {
  if (stdin === undefined) return (await runInBatch(server, args)) as T;
  const ran = await run([join(root, 'svc-admin'), ...args, '--json'], {
    env: server.env,
    stdin,
  });
  if (ran.code !== 0) throw new Error(`svc-admin ${args.join(' ')} ended with ${ran.code}: ${ran.stderr}`);
  return ran.json<T>();
}

export type Svc = (
  args: string[],
  options?: { env?: Record<string, string | undefined>; stdin?: string; cwd?: string },
) => Promise<Ran>;

/** `svc` with a config folder of its own and, if given, a token and a tenant. */
export function svcFor(
  server: RunningServer,
  who: { token?: string; tenant?: string } = {},
  /** A process per command is slow; `process` is for tests of the process itself. */
  as: 'call' | 'process' = 'call',
): Svc {
  const own: Record<string, string | undefined> = {
    SVC_BASE_URL: server.baseUrl,
    SVC_DATA_DIR: server.dataDir,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
    SVC_TOKEN: who.token,
    SVC_TENANT: who.tenant,
    SVC_API_KEY: undefined,
    SVC_PROFILE: undefined,
    NO_COLOR: '1',
  };
  if (as === 'process')
    return (args, options = {}) =>
      run([join(root, 'svc'), ...args], { ...options, env: { ...own, ...options.env } });
  return async (args, { env, stdin, cwd = root } = {}) => {
    const all = { ...process.env, ...own, ...env };
    const { exit, out, err } = await runSvc(args, { env: all, cwd, input: stdin });
    return ran(exit, out, err);
  };
}

/** The JSON output of a command, which must succeed without a word on stderr. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into output of every shape.
export async function jsonOutput<T = any>(svc: Svc, ...args: string[]): Promise<T> {
  const ran = await svc([...args, '--json']);
  expect([args.join(' '), ran.code, ran.stderr]).toEqual([args.join(' '), 0, '']);
  return ran.json<T>();
}

/** The command must exit with this code, name the problem code on stderr, and print nothing on stdout. */
export async function expectFailure(command: Promise<Ran>, exit: number, code: string): Promise<Ran> {
  const ran = await command;
  expect([ran.code, ran.stdout, ran.stderr.includes(`(${code})`)]).toEqual([exit, '', true]);
  return ran;
}

/** An open `./svc-admin batch`: the tool starts once per server, not once per command. */
interface Batch {
  /** Whether the process still runs. */
  isOpen(): boolean;
  run(words: readonly string[]): Promise<unknown>;
}

const batches = new Map<RunningServer, Promise<Batch | null>>();

/** Queues a command. A failed command ends the process; the next one starts it again. */
function runInBatch(server: RunningServer, words: readonly string[]): Promise<unknown> {
  const before = batches.get(server) ?? Promise.resolve(null);
  const batch = before.then((open) => (open?.isOpen() ? open : openBatch(server)));
  const answer = batch.then((open) => open.run(words));
  batches.set(
    server,
    answer.then(
      () => batch,
      () => null,
    ),
  );
  return answer;
}

function openBatch(server: RunningServer): Batch {
  const child = Bun.spawn([join(root, 'svc-admin'), 'batch'], {
    cwd: root,
    env: { ...process.env, ...server.env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const errors = new Response(child.stderr).text();
  const answers = linesOf(child.stdout);
  endWith(server, async () => {
    await child.stdin.end();
    await child.exited;
  });
  return {
    isOpen: () => child.exitCode === null && child.signalCode === null,
    run: async (words) => {
      child.stdin.write(`${JSON.stringify(words)}\n`);
      await child.stdin.flush();
      const { value, done } = await answers.next();
      if (!done) return JSON.parse(value);
      throw new Error(`svc-admin ${words.join(' ')} ended with ${await child.exited}: ${await errors}`);
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
