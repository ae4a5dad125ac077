import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userBaseMax, userBaseMin } from './app-users.ts';

/** Where the users of this data dir begin: chosen once, by the first copy of the server that asks. */
export function takeUserBase(path: string): number {
  const kept = readBase(path);
  if (kept !== null) return kept;
  const beside = `${path}.${crypto.randomUUID()}`;
  const chosen = userBaseMin + Math.floor(Math.random() * (userBaseMax - userBaseMin));
  writeFileSync(beside, `${chosen}\n`, { mode: 0o600 });
  try {
    linkSync(beside, path);
  } catch (error) {
    // Another copy was first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(beside, { force: true });
  }
  const base = readBase(path);
  if (base === null) throw new Error(`${path} does not say where the users of apps begin.`);
  return base;
}

function readBase(path: string): number | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const base = Number(text.trim());
  if (!Number.isInteger(base) || base < userBaseMin || base > userBaseMax)
    throw new Error(`${path} does not say where the users of apps begin.`);
  return base;
}
