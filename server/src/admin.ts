import { createInterface } from 'node:readline';
import { runAdmin } from './admin/run.ts';
import { readConfig } from './config.ts';
import { noProxyEnvironment } from './core/no-proxy.ts';

const interrupts = new Set<() => void>();
const signalExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const undo of [...interrupts].reverse()) undo();
    process.exit(signalExitCodes[signal]);
  });
}
// A closed pipe is not an error: `svc-admin users list | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

Object.assign(process.env, noProxyEnvironment(process.env, []));

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  stdin: () => Bun.stdin.text(),
  stdinLines,
  config: () => readConfig(process.env),
  onInterrupt: (undo) => {
    interrupts.add(undo);
    return () => void interrupts.delete(undo);
  },
});

async function* stdinLines(): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: process.stdin });
  } finally {
    // The writer may leave the pipe open; the process must still exit.
    process.stdin.destroy();
  }
}
