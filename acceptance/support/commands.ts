import { join } from 'node:path';
import { runInBatch } from './admin-batch.ts';
import { type RunningServer, root, temporaryFolder } from './server.ts';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
  /** stdout as JSON. */
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

/** `./svc-admin …` on the server's own database; with standard input in a process of its own. */
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

/** `./svc` as one person: with a config folder of their own and, if given, a token and a tenant. */
export function svcFor(server: RunningServer, who: { token?: string; tenant?: string } = {}): Svc {
  const env: Record<string, string | undefined> = {
    SVC_BASE_URL: server.baseUrl,
    SVC_DATA_DIR: server.dataDir,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
    SVC_TOKEN: who.token,
    SVC_TENANT: who.tenant,
    SVC_API_KEY: undefined,
    SVC_PROFILE: undefined,
    NO_COLOR: '1',
  };
  return (args, options = {}) =>
    run([join(root, 'svc'), ...args], { ...options, env: { ...env, ...options.env } });
}
