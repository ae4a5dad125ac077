import { lookup } from 'node:dns/promises';
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** Linux takes 107 bytes, macOS 103. */
export const socketPathBytesMax = 100;

interface PortSetting {
  variable: string;
  port: number;
}

export function explainPortInUse<T>({ variable, port }: PortSetting, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    const text = `port ${port} is in use. Stop the program that uses it, or set ${variable} to another port.`;
    throw new Error(text, { cause });
  }
}

/** Removes the file of a server that was killed: nobody can listen there while it exists. */
export async function prepareSocketPath(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) {
    if (existsSync(dirname(path))) return;
    throw new Error(
      `${dirname(path)} does not exist. Create this folder, or set SVC_LISTEN to another path.`,
    );
  }
  if (!found.isSocket())
    throw new Error(`${path} is not a socket. Remove it, or set SVC_LISTEN to another path.`);
  if (await isInUse(path))
    throw new Error(`${path} is in use. Stop the program that uses it, or set SVC_LISTEN to another path.`);
  rmSync(path, { force: true });
}

function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}

export function isListening(address: { path: string } | { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}

/** Nobody listens there, so that nothing of the request was received. */
export function isRefused(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return code === 'ConnectionRefused' || code === 'ECONNREFUSED';
}

export async function lookUpAddresses(host: string): Promise<string[]> {
  return (await lookup(host, { all: true }).catch(() => [])).map(({ address }) => address);
}
