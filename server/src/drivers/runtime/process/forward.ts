import { spawn } from 'node:child_process';
import type { Forward } from '../look-for-port.ts';
import { runIdVariable } from './environment.ts';
import { loopback } from './network.ts';
import { listListeners } from './ports.ts';
import type { ForwardOptions, Sandbox } from './sandbox.ts';

const openMsMax = 5_000;

/** Null if it cannot be opened, e.g. without IPv6. */
export async function openForward(
  sandbox: Sandbox,
  options: ForwardOptions & { mark: string; onProcess(pid: number | null): void },
): Promise<Forward | null> {
  const { from, to, mark, onProcess } = options;
  const [program = '', ...args] = sandbox.forward(options);
  const child = spawn(program, args, {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', [runIdVariable]: mark },
    stdio: 'ignore',
  });
  let isRunning = true;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  }).then(() => {
    isRunning = false;
    onProcess(null);
  });
  onProcess(child.pid ?? null);
  const host = loopback[to.family];
  const forward: Forward = {
    address: to.family === 4 ? `${host}:${from}` : `[${host}]:${from}`,
    target: to,
    isRunning: () => isRunning,
    async close() {
      child.kill('SIGKILL');
      await ended;
    },
  };
  for (const until = Date.now() + openMsMax; isRunning && Date.now() < until; await Bun.sleep(10))
    if (listListeners('/proc/net', from).length > 0) return forward;
  await forward.close();
  return null;
}
