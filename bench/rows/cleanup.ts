import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whatever a measurement starts or writes is ended and removed with it, the last first. */
export interface Cleanup {
  add(step: () => unknown): void;
  /** A child that is asked to end, then made to. */
  child(child: Bun.Subprocess): void;
  temporaryFolder(): string;
}

const endMsMax = 30_000;

/** Also when it fails or is interrupted. */
export async function withCleanup(work: (cleanup: Cleanup) => Promise<void>): Promise<void> {
  const steps: (() => unknown)[] = [];
  let ending: Promise<void> | null = null;
  const end = async () => {
    for (;;) {
      const step = steps.pop();
      if (!step) return;
      await Promise.resolve()
        .then(step)
        .catch((error: unknown) => console.error('while cleaning up:', error));
    }
  };
  const onSignal = () => {
    ending ??= end().then(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  const cleanup: Cleanup = {
    add: (step) => void steps.push(step),
    child: (child) => void steps.push(() => stopped(child)),
    temporaryFolder() {
      const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
      steps.push(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },
  };
  try {
    await work(cleanup);
  } finally {
    // Interrupted, the work fails because what it stands on is being ended.
    if (ending) await ending;
    await end();
  }
}

async function stopped(child: Bun.Subprocess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), endMsMax);
  await child.exited;
  clearTimeout(timer);
}
