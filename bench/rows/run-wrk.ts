import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import type { CountedFigures } from './measure.ts';

export interface Load {
  name: string;
  port: number;
  script: string;
}

const done = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %f %f %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout))
end
`;

/** 32 connections, if not said otherwise, from one thread. A response other than 2xx aborts the measurement. */
export async function runWrk(
  wrk: string,
  folder: string,
  { name, port, script }: Load,
  options: { seconds: number; cleanup: Cleanup; connections?: number },
): Promise<CountedFigures> {
  const path = join(folder, `${name}.lua`);
  writeFileSync(path, script + done);
  const child = Bun.spawn(
    [
      wrk,
      '-t1',
      `-c${options.connections ?? 32}`,
      `-d${options.seconds}s`,
      '-s',
      path,
      `http://127.0.0.1:${port}`,
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  options.cleanup.child(child);
  const text = await new Response(child.stdout).text();
  await child.exited;
  const found = /RESULT (\d+) (\d+) ([\d.]+) ([\d.]+) (\d+)/.exec(text);
  if (!found) throw new Error(`wrk ${name}: ${text}${await new Response(child.stderr).text()}`);
  const [count = 0, microseconds = 0, p50 = 0, p99 = 0, errors = 0] = found.slice(1).map(Number);
  if (errors > 0 || count === 0) throw new Error(`wrk ${name}: ${errors} of ${count} requests failed.`);
  const seconds = microseconds / 1e6;
  return { count, seconds, perSecond: count / seconds, p50Ms: p50 / 1000, p99Ms: p99 / 1000 };
}
