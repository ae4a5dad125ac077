import { readFileSync } from 'node:fs';

/** Whose programs listen at a port of this machine, as Linux tells it; empty elsewhere. */
export function usersListeningAt(port: number): number[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    linesOf(path).flatMap((line) => {
      const [, local, , state, , , , uid] = line.trim().split(/\s+/);
      return state === listening && local?.endsWith(`:${wanted}`) ? [Number(uid)] : [];
    }),
  );
}

const listening = '0A';

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch {
    return [];
  }
}
