import type { RawDatabases } from './raw-databases.ts';
import { rawName } from './raw-name.ts';
import { rawUrl } from './raw-url.ts';

export const installation = 'test';

export interface MadeDatabase {
  name: string;
  password: string;
  connectionsMax: number;
  missing: 'make';
  connected: 'stay';
  url: string;
}

/** What a test wants of a database of its own, and how it would be reached. */
export async function newWanted(raw: RawDatabases): Promise<MadeDatabase> {
  const name = rawName(Bun.randomUUIDv7());
  const password = `p_${name}`;
  const url = rawUrl(await raw.address(), { user: name, password, database: name });
  return { name, password, connectionsMax: 3, missing: 'make', connected: 'stay', url };
}

/** One that is there. */
export async function newRawDatabase(raw: RawDatabases): Promise<MadeDatabase> {
  const wanted = await newWanted(raw);
  await raw.underLock(wanted.name, (hands) => hands.ensure(wanted));
  return wanted;
}
