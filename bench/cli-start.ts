import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dir, '..');
const rounds = 60;
const ratioGoal = 3;

export async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const env = {
    ...process.env,
    SVC_PORT: String(20_000 + (process.pid % 20_000)),
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_CONFIG_DIR: join(folder, 'config'),
    SVC_LOG_LEVEL: 'warn',
  } as Record<string, string>;
  env.SVC_BASE_URL = `http://localhost:${env.SVC_PORT}`;
  const server = Bun.spawn([process.execPath, join(root, 'server/src/main.ts')], {
    env,
    stdout: 'pipe',
    stderr: 'ignore',
  });
  try {
    for await (const chunk of server.stdout)
      if (new TextDecoder().decode(chunk).includes('svc is ready on')) break;
    const svc = join(root, 'svc');
    if (timeCommand([svc, 'login', '--local'], env) === null) throw new Error('svc login --local failed');
    const commands: Record<string, string[]> = {
      'bare Bun start': [process.execPath, join(root, 'bench/fixtures/bare.ts')],
      'svc --version': [svc, '--version'],
      'svc whoami': [svc, 'whoami'],
      'svc grants mine': [svc, 'grants', 'mine'],
      'gh --version': ['gh', '--version'],
    };
    report(measure(commands, env));
  } finally {
    server.kill('SIGTERM');
    await server.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Commands take turns, so that noise of the machine affects all alike. */
function measure(commands: Record<string, string[]>, env: Record<string, string>): Map<string, number[]> {
  const times = new Map<string, number[]>();
  for (const [name, command] of Object.entries(commands))
    if (timeCommand(command, env) !== null) times.set(name, []);
  for (let round = 0; round < rounds; round++) {
    for (const [name, list] of times) {
      const ms = timeCommand(commands[name] ?? [], env);
      if (ms !== null) list.push(ms);
    }
  }
  return times;
}

function timeCommand(command: string[], env: Record<string, string>): number | null {
  const startedAt = performance.now();
  try {
    const { exitCode } = Bun.spawnSync(command, { env, stdout: 'ignore', stderr: 'ignore', stdin: 'ignore' });
    return exitCode === 0 ? performance.now() - startedAt : null;
  } catch {
    return null;
  }
}

function report(times: Map<string, number[]>): void {
  const at = (list: number[], share: number) =>
    [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * share)] ?? 0;
  const bare = at(times.get('bare Bun start') ?? [], 0.5);
  const gh = times.get('gh --version');
  console.log(
    `${'command'.padEnd(18)} ${'p50 ms'.padStart(8)} ${'p95 ms'.padStart(8)} ${'to bare'.padStart(8)} ${'to gh'.padStart(8)}`,
  );
  for (const [name, list] of times) {
    const p50 = at(list, 0.5);
    const toGh = gh ? (p50 / at(gh, 0.5)).toFixed(2) : '-';
    const row = [p50.toFixed(1), at(list, 0.95).toFixed(1), (p50 / bare).toFixed(2), toGh];
    console.log(`${name.padEnd(18)} ${row.map((cell) => cell.padStart(8)).join(' ')}`);
  }
  for (const name of ['svc --version', 'svc whoami']) {
    const ratio = at(times.get(name) ?? [], 0.5) / bare;
    console.log(
      `${name}: ${ratio.toFixed(2)}x the bare start, goal at most ${ratioGoal}x: ${ratio <= ratioGoal ? 'met' : 'MISSED'}`,
    );
  }
}
