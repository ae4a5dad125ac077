import { expect } from 'bun:test';
import { join } from 'node:path';
import { runSvc } from '../../cli/testing/run-svc.ts';
import { runAdmin } from '../../server/src/admin/run.ts';
import { admin as runAdminOnce } from '../../server/src/admin/testing.ts';
import { readConfig } from '../../server/src/config.ts';
import type { Person, Tenant } from './people.ts';
import { endWith, type RunningServer, root, temporaryFolder } from './server.ts';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
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

/** Runs `svc-admin`. The tests of the process itself are beside `server/src/admin.ts`. */
export async function admin<T = Record<string, string>>(
  server: RunningServer,
  args: string[],
  stdin?: string,
): Promise<T> {
  if (stdin === undefined) return (await runInBatch(server, args)) as T;
  const { exit, err, json } = await runAdminOnce(server.env, args, stdin);
  if (exit !== 0) throw new Error(`svc-admin ${args.join(' ')} ended with ${exit}: ${err}`);
  return json as T;
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

/** `svc` as a person of a fixture, which exists once the tests run. */
export function svcAs(
  who: () => readonly [tenant: Pick<Tenant, 'server' | 'slug'>, person: Pick<Person, 'token'>],
): Svc {
  let svc: Svc | undefined;
  return (...command) => {
    const [{ server, slug }, { token }] = who();
    svc ??= svcFor(server, { token, tenant: slug });
    return svc(...command);
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

/** An open `svc-admin batch`: its connection to the database is opened once per server, not once per command. */
interface Batch {
  isOpen(): boolean;
  run(words: readonly string[]): Promise<unknown>;
}

const batches = new Map<RunningServer, Promise<Batch | null>>();

/** Queues a command. A failed command ends the batch; the next one starts it again. */
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
  const lines = new TransformStream<string, string>();
  const input = lines.writable.getWriter();
  let isOpen = true;
  let errors = '';
  let answer = Promise.withResolvers<string>();
  const ended = runAdmin(['batch'], {
    stdin: async () => '',
    config: () => readConfig(server.env),
    onInterrupt: () => () => {},
    out: (text) => answer.resolve(text),
    err: (text) => {
      errors += text;
    },
    stdinLines: () => lines.readable,
  }).finally(() => {
    isOpen = false;
  });
  endWith(server, async () => {
    await input.close().catch(() => {});
    await ended;
  });
  return {
    isOpen: () => isOpen,
    run: async (words) => {
      answer = Promise.withResolvers();
      input.write(JSON.stringify(words)).catch(() => {});
      const text = await Promise.race([answer.promise, ended]);
      if (typeof text === 'string') return JSON.parse(text);
      throw new Error(`svc-admin ${words.join(' ')} ended with ${text}: ${errors}`);
    },
  };
}
