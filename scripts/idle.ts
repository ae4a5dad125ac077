import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const sampleMs = 4_000;
/** Of one processor. */
const idleShareMin = 0.5;
const freeMemoryMin = 3 * 1024 ** 3;

let last: Promise<unknown> = Promise.resolve();

/**
 * Whether another process would find time and memory: some seconds are measured, one caller after the other, so that
 * the next caller sees what the one before has started.
 */
export function isMachineIdle(): Promise<boolean> {
  const answer = last.then(async () => {
    const before = idleMs();
    const started = performance.now();
    await Bun.sleep(sampleMs);
    const idle = (idleMs() - before) / (performance.now() - started);
    return idle > idleShareMin && freeMemory() > freeMemoryMin;
  });
  last = answer;
  return answer;
}

const idleMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);

function freeMemory(): number {
  try {
    return Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  } catch {
    return 0;
  }
}
