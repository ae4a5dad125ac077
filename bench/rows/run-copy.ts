import type { Cleanup } from './cleanup.ts';
import type { Server } from './start-server.ts';

/** Sessions of psql side by side, each command of theirs a transaction; the time from the first command to the last. */
export async function psqlRuns(
  psql: string,
  server: Server,
  options: { database: string; sessions: readonly (readonly string[])[]; cleanup: Cleanup },
): Promise<{ seconds: number }> {
  const children = options.sessions.map(() =>
    Bun.spawn(
      [
        ...[psql, '-X', '-q', '-v', 'ON_ERROR_STOP=1'],
        ...['-h', server.socketFolder, '-p', '5432', '-U', 'postgres', options.database],
      ],
      {
        env: { ...process.env, PGPASSWORD: server.superuserPassword },
        stdin: 'pipe',
        stdout: 'pipe',
        stderr: 'inherit',
      },
    ),
  );
  for (const child of children) options.cleanup.child(child);
  // Connected before the clock starts.
  await Promise.all(
    children.map(async (child) => {
      child.stdin.write('\\echo ready\n');
      child.stdin.flush();
      for await (const _ of child.stdout) break;
    }),
  );
  const begun = performance.now();
  for (const [at, child] of children.entries()) {
    child.stdin.write(`${options.sessions[at]?.join('\n')}\n`);
    child.stdin.end();
  }
  const codes = await Promise.all(children.map((child) => child.exited));
  if (codes.some((code) => code !== 0)) throw new Error('psql failed.');
  return { seconds: (performance.now() - begun) / 1000 };
}
