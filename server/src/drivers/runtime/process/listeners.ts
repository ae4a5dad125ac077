import { readFileSync } from 'node:fs';

/**
 * Whose programs answer at a port of 127.0.0.1, as Linux tells it; empty elsewhere. Of those who listen the one nearest
 * to the address is led to; who listens at the same port of another address has nothing to do with it.
 */
export function usersListeningAt(port: number): number[] {
  const listeners = listenersAt(port);
  for (const address of nearestFirst) {
    const there = listeners.filter((listener) => listener.address === address);
    if (there.length > 0) return there.map(({ uid }) => uid);
  }
  return [];
}

/** Whether somebody listens there who is reached from other machines too. */
export function isOpenToOthers(port: number): boolean {
  return listenersAt(port).some(({ address }) => everywhere.includes(address));
}

function listenersAt(port: number): { address: string; uid: number }[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    linesOf(path).flatMap((line) => {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/);
      const [address = '', at] = local.split(':');
      return state === listening && at === wanted ? [{ address, uid: Number(uid) }] : [];
    }),
  );
}

const listening = '0A';
const everywhere = ['00000000', '00000000000000000000000000000000'];
/** 127.0.0.1 and 0.0.0.0 as such, and as addresses of the sixth version; the machine's order of bytes, or the other. */
const nearestFirst = [
  '0100007F',
  '7F000001',
  '0000000000000000FFFF00000100007F',
  '00000000000000000000FFFF7F000001',
  ...everywhere,
];

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
