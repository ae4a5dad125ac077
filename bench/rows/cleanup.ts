import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Cleanup {
  add(step: () => unknown): void;
  child(child: Bun.Subprocess): void;
  temporaryFolder(): string;
}

const stopMsMax = 30_000;

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
    child: (child) => void steps.push(() => stopChild(child)),
    temporaryFolder() {
      const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
      steps.push(() => rmSync(folder, { recursive: true, force: true }));
      return folder;
    },
  };
  try {
    await work(cleanup);
  } finally {
    // After an interrupt the work fails because its processes are being stopped.
    if (ending) await ending;
    await end();
  }
}

async function stopChild(child: Bun.Subprocess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMsMax);
  await child.exited;
  clearTimeout(timer);
}
