import { type SpawnOptions, spawn } from 'node:child_process';

/** To its end, without blocking: a cluster may be made while the server serves. */
export function runProgram(
  program: string,
  args: string[],
  options: SpawnOptions,
): Promise<{ status: number | null; said: string }> {
  return new Promise((resolve) => {
    const run = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [run.stdout, run.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    run.once('error', (error) => resolve({ status: null, said: error.message }));
    run.once('close', (status) => resolve({ status, said: said.trim() }));
  });
}
