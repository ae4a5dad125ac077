import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { runIdVariable } from './environment.ts';
import { loopback, type Target } from './network.ts';
import { listListeners } from './ports.ts';
import type { ForwardOptions, Sandbox } from './sandbox.ts';

/** Carries connections from an address of this machine to a port in a sandbox. */
export interface Forward {
  address: string;
  target: Target;
  isRunning(): boolean;
  close(): Promise<void>;
}

const openMsMax = 5_000;
const answerMsMax = 2_000;

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

/** Reads five bytes: responses of apps are not for this process to parse. */
export function answersHttp(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${address}`);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) });
    socket.setTimeout(answerMsMax, () => socket.destroy());
    socket.once('connect', () =>
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    );
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1').slice(0, 5);
      if (text.length >= 5) socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => resolve(text.startsWith('HTTP/')));
  });
}
