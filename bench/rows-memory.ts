import { readFileSync, writeFileSync } from 'node:fs';
import { withCleanup } from './rows/cleanup.ts';
import { categories, item, rowCount } from './rows/dataset.ts';
import { prepare } from './rows/prepare.ts';
import { runWrk } from './rows/run-wrk.ts';
import { findTools } from './rows/tools.ts';

const warmUpSeconds = 30;
const sampleMs = 2_000;
const samplesAtEnds = 15;
const growthMax = 0.2;
const parallelBatches = 20;
const batchBytes = 16 * 1024 * 1024;
const batchLines = 10_000;
const peakMbMax = 300;

/**
 * Resident memory of the server during five minutes of mixed load, then during twenty concurrent batches of the
 * maximum size.
 */
export async function main(): Promise<void> {
  const minutes = Number(process.argv.find((arg) => arg.startsWith('--minutes='))?.slice(10) ?? 5);
  const tools = findTools();
  await withCleanup(async (cleanup) => {
    const { server, pat, reads, inserts, batches } = await prepare(cleanup);
    const base = `http://127.0.0.1:${server.port}`;
    console.log(`before any load: ${resident(server.pid).toFixed(0)} MB`);
    const load = {
      name: 'mixed',
      port: server.port,
      script: mixedScript({ port: server.port, pat, reads: reads.path, inserts: inserts.path }),
    };
    const run = (seconds: number) => runWrk(tools.wrk, server.folder, load, { seconds, cleanup });
    await run(warmUpSeconds);
    const samples: number[] = [];
    const timer = setInterval(() => samples.push(resident(server.pid)), sampleMs);
    const { perSecond } = await run(minutes * 60);
    clearInterval(timer);
    const mean = (list: number[]) => list.reduce((sum, value) => sum + value, 0) / list.length;
    const [first, last] = [mean(samples.slice(0, samplesAtEnds)), mean(samples.slice(-samplesAtEnds))];
    const growth = last / first - 1;
    console.log(
      `${minutes} minutes of reads, lists and inserts, ${Math.round(perSecond)}/s: from ${first.toFixed(0)} to ` +
        `${last.toFixed(0)} MB (${Math.min(...samples).toFixed(0)} to ${Math.max(...samples).toFixed(0)})`,
    );
    console.log(
      `  growth: ${(growth * 100).toFixed(1)} %, goal < 20 %: ${growth < growthMax ? 'PASS' : 'MISS'}`,
    );

    const body = largestBatch();
    writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
    const idle = resident(server.pid);
    const startedAt = performance.now();
    const answers = await Promise.all(
      Array.from({ length: parallelBatches }, async () => {
        const response = await fetch(base + batches.path, {
          method: 'POST',
          headers: { 'x-api-key': pat, 'content-type': 'application/x-ndjson' },
          body,
        });
        await response.arrayBuffer();
        return response.status;
      }),
    );
    const seconds = (performance.now() - startedAt) / 1000;
    const peak = memoryMb(server.pid, 'VmHWM');
    const stored = answers.filter((status) => status === 201).length;
    console.log(
      `${parallelBatches} batches of 16 MiB at once: ${stored} stored` +
        `${stored < parallelBatches ? ` (${JSON.stringify(answers)})` : ''} in ${seconds.toFixed(1)} s; ` +
        `${idle.toFixed(0)} MB before, peak ${peak.toFixed(0)} MB`,
    );
    console.log(`  peak below ${peakMbMax} MB: ${peak < peakMbMax && stored > 0 ? 'PASS' : 'MISS'}`);
    await Bun.sleep(5_000);
    console.log(`5 s later: ${resident(server.pid).toFixed(0)} MB`);
  });
}

const resident = (pid: number) => memoryMb(pid, 'VmRSS');

function memoryMb(pid: number, field: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024) / 1e6;
}

function largestBatch(): Uint8Array<ArrayBuffer> {
  const lines: string[] = [];
  for (let number = 1; number <= batchLines; number++) {
    const { id: _, title, ...rest } = item(number);
    const short = `${JSON.stringify({ title, ...rest })}\n`;
    const room = Math.floor(batchBytes / batchLines) - Buffer.byteLength(short);
    lines.push(`${JSON.stringify({ title: title + 'x'.repeat(room), ...rest })}\n`);
  }
  return new TextEncoder().encode(lines.join(''));
}

function mixedScript(options: { port: number; pat: string; reads: string; inserts: string }): string {
  const head = `Host: 127.0.0.1:${options.port}\\r\\nX-Api-Key: ${options.pat}\\r\\n`;
  const { id: _, ...row } = item(1);
  return `
local random, format = math.random, string.format
local tail = " HTTP/1.1\\r\\n${head}\\r\\n"
local body = [[${JSON.stringify(row)}]]
local insert = "POST ${options.inserts} HTTP/1.1\\r\\n${head}Content-Type: application/json\\r\\nContent-Length: "
  .. #body .. "\\r\\n\\r\\n" .. body
request = function()
  local kind = random(1, 10)
  if kind <= 6 then return format("GET ${options.reads}/00000000-0000-0000-0000-%012x", random(1, ${rowCount})) .. tail end
  if kind <= 9 then
    return "GET ${options.reads}?category=eq." .. random(0, ${categories - 1}) .. "&sort=-created_at&per_page=20" .. tail
  end
  return insert
end
`;
}
