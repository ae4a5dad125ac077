import type { Cleanup } from './cleanup.ts';
import type { Server } from './start-server.ts';

export async function runPsqlSessions(
  psql: string,
  server: Server,
  options: { database: string; sessions: readonly (readonly string[])[]; cleanup: Cleanup },
): Promise<{ seconds: number }> {
  const login = ['-h', server.socketFolder, '-p', '5432', '-U', 'postgres', options.database];
  const command = [psql, '-X', '-q', '-v', 'ON_ERROR_STOP=1', ...login];
  const env = { ...process.env, PGPASSWORD: server.superuserPassword };
  const children = options.sessions.map(() =>
    Bun.spawn(command, { env, stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' }),
  );
  for (const child of children) options.cleanup.child(child);
  await Promise.all(
    children.map(async (child) => {
      child.stdin.write('\\echo ready\n');
      child.stdin.flush();
      for await (const _ of child.stdout) break;
    }),
  );
  const startedAt = performance.now();
  for (const [at, child] of children.entries()) {
    child.stdin.write(`${options.sessions[at]?.join('\n')}\n`);
    child.stdin.end();
  }
  const codes = await Promise.all(children.map((child) => child.exited));
  if (codes.some((code) => code !== 0)) throw new Error('psql failed.');
  return { seconds: (performance.now() - startedAt) / 1000 };
}
