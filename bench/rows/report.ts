import { othersShareMax } from './cpu.ts';
import type { Measurement } from './measure.ts';

export interface Line {
  name: string;
  result: Measurement;
}

export interface Goal {
  what: string;
  ratio: number;
  min: number;
}

const tailRatioMax = 5;

export function report(title: string, unit: string, lines: readonly Line[], goals: readonly Goal[]): void {
  console.log(`\n${title}`);
  const heads = [`${unit}/s`, 'p50 ms', 'p99 ms', `server us/${unit}`, `postgres us/${unit}`, 'others'];
  console.log(`  ${'contender'.padEnd(24)}${heads.map((head) => head.padStart(18)).join('')}`);
  for (const { name, result } of lines) {
    const cells = [
      Math.round(result.perSecond).toLocaleString('en'),
      result.p50Ms.toFixed(2),
      result.p99Ms.toFixed(2),
      result.cpu.serverUs.toFixed(1),
      result.cpu.postgresUs.toFixed(1),
      `${(result.othersShare * 100).toFixed(0)} %${result.othersShare > othersShareMax ? ' (!)' : ''}`,
    ];
    console.log(`  ${name.padEnd(24)}${cells.map((cell) => cell.padStart(18)).join('')}`);
  }
  for (const { what, ratio, min } of goals) {
    if (min === 0) console.log(`  ${what}: ${ratio.toFixed(2)}`);
    else console.log(`  ${what}: ${ratio.toFixed(2)}, goal >= ${min}: ${ratio >= min ? 'PASS' : 'MISS'}`);
  }
}

export function reportTail({ p50Ms, p99Ms }: Measurement): void {
  const ratio = p99Ms / p50Ms;
  console.log(
    `  p99 to p50: ${ratio.toFixed(2)}, goal <= ${tailRatioMax}: ${ratio <= tailRatioMax ? 'PASS' : 'MISS'}`,
  );
}
