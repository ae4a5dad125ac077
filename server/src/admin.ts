import { createInterface } from 'node:readline';
import { runAdmin } from './admin/run.ts';
import { readConfig } from './config.ts';
import { reachedDirectly } from './plumbing/reached-directly.ts';

/** The operator's tool, on the machine that has the database: `./svc-admin`. */
const interrupts = new Set<() => void>();
const exitOfSignal = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const undo of [...interrupts].reverse()) undo();
    process.exit(exitOfSignal[signal]);
  });
}
// The reader has what it wanted: `svc-admin users list | head` is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

Object.assign(process.env, reachedDirectly(process.env, []));

const exit = await runAdmin(process.argv.slice(2), {
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
process.exitCode = exit;

async function* stdinLines(): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: process.stdin });
  } finally {
    // Whoever writes may keep the pipe open: an end before that of the input must not wait for it.
    process.stdin.destroy();
  }
}
