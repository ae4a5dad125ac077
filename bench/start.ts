import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dir, '..');
const rounds = 7;
const goalMs = 1_000;
const pollMs = 10;
/** Of the times in `/proc`. */
const tickMs = 10;

interface Start {
  /** Milliseconds since `npm start` was run. The launcher becomes the supervisor. */
  supervisor: number;
  server: number;
  postgres: number;
  /** The server has loaded its modules and opened its port. */
  listening: number;
  ready: number;
  /** The first request after it, from its own beginning. */
  request: number;
  /** Milliseconds of processor time until then. */
  processor: Record<Program, number>;
}

const programs = {
  npm: /^npm start/,
  supervisor: /bun\S* .*start\.ts/,
  server: /\/main\.[jt]s$/,
  agent: /\/agent\.[jt]s$/,
  postgres: /^postgres: |\/postgres -D/,
};
type Program = keyof typeof programs;

/** From `npm start` to the first 200 of `/readyz`. Linux: when the processes started is read from `/proc`. */
export async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  // Under root, PostgreSQL runs as another user and must be able to traverse the folder.
  Bun.spawnSync(['chmod', '711', folder]);
  const port = 20_000 + (process.pid % 20_000);
  const env = {
    ...process.env,
    SVC_PORT: String(port),
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_DATA_DIR: join(folder, 'data'),
    SVC_LOG_LEVEL: 'error',
  } as Record<string, string>;
  try {
    const first = await measure(env);
    console.log(`first start, which creates the data dir: ${first.ready.toFixed(0)} ms`);
    const starts: Start[] = [];
    while (starts.length < rounds) starts.push(await measure(env));
    report(starts);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(env: Record<string, string>): Promise<Start> {
  const startedAt = performance.now();
  const npm = Bun.spawn(['npm', 'start'], {
    cwd: root,
    env,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'inherit',
  });
  const sinceStart = () => performance.now() - startedAt;
  try {
    await answers(`${env.SVC_BASE_URL}/healthz`, npm);
    const listening = sinceStart();
    await answers(`${env.SVC_BASE_URL}/readyz`, npm);
    const ready = sinceStart();
    const response = await fetch(`${env.SVC_BASE_URL}/api/v1/version`);
    if (!response.ok) throw new Error(`The first request was answered with ${response.status}.`);
    await response.text();
    const request = sinceStart() - ready;
    return { ...processStarts(npm.pid), listening, ready, request };
  } finally {
    npm.kill('SIGTERM');
    await npm.exited;
  }
}

async function answers(url: string, { exitCode }: { exitCode: number | null }): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => null);
    if (response?.ok) return;
    if (exitCode !== null) throw new Error(`npm start ended with ${exitCode}.`);
    await Bun.sleep(pollMs);
  }
}

/** When the processes below npm started, relative to npm itself, and what they have used. */
function processStarts(npm: number): Pick<Start, 'supervisor' | 'server' | 'postgres' | 'processor'> {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess);
  const below = (pid: number): typeof all =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)]);
  const own = all.filter(({ pid }) => pid === npm);
  const family = [...own, ...below(npm)];
  const of = (program: Program) => family.filter(({ command }) => programs[program].test(command));
  const startOf = (program: Program) =>
    ((of(program)[0]?.startedAt ?? Number.NaN) - (own[0]?.startedAt ?? 0)) * tickMs;
  const processorOf = (program: Program) => of(program).reduce((sum, { used }) => sum + used, 0) * tickMs;
  return {
    supervisor: startOf('supervisor'),
    server: startOf('server'),
    postgres: startOf('postgres'),
    processor: Object.fromEntries(
      Object.keys(programs).map((name) => [name, processorOf(name as Program)]),
    ) as Start['processor'],
  };
}

interface Process {
  pid: number;
  parent: number;
  startedAt: number;
  /** With the children that have ended. */
  used: number;
  command: string;
}

function readProcess(pid: string): Process[] {
  try {
    // The name, in parentheses, may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    const used = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), startedAt: Number(fields[19]), used, command }];
  } catch {
    return [];
  }
}

function report(starts: readonly Start[]): void {
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const rows: [string, (start: Start) => number][] = [
    ['npm, until the launcher starts', ({ supervisor }) => supervisor],
    ['launcher and supervisor, until the server starts', ({ supervisor, server }) => server - supervisor],
    ['server, until it listens', ({ server, listening }) => listening - server],
    ['server, until it is ready', ({ listening, ready }) => ready - listening],
    ['(PostgreSQL starts, after npm start)', ({ postgres }) => postgres],
    ['(first request after that)', ({ request }) => request],
  ];
  for (const [name, of] of rows)
    console.log(`${name.padEnd(40)} ${median(starts.map(of)).toFixed(0).padStart(6)} ms`);
  for (const name of Object.keys(programs) as Program[])
    console.log(
      `${`processor time of ${name}`.padEnd(40)} ${median(starts.map(({ processor }) => processor[name]))
        .toFixed(0)
        .padStart(6)} ms`,
    );
  const all = starts.map(({ ready }) => ready);
  const total = median(all);
  const list = all.map((ms) => ms.toFixed(0)).join(', ');
  console.log(`npm start to ready: median ${total.toFixed(0)} ms of ${list}`);
  console.log(`goal at most ${goalMs} ms: ${total <= goalMs ? 'met' : 'MISSED'}`);
}
