import type { RawDatabases } from './raw-databases.ts';
import { rawName, rawUrl } from './server.ts';

export const installation = 'test';

export type TestDatabase = Awaited<ReturnType<typeof newDatabaseSpec>>;

export async function newDatabaseSpec(raw: RawDatabases) {
  const name = rawName(Bun.randomUUIDv7());
  const password = `p_${name}`;
  const url = rawUrl(await raw.address(), { user: name, password, database: name });
  return {
    name,
    password,
    connectionsMax: 3,
    ifMissing: 'create',
    disconnectClients: false,
    isReviewed: false,
    url,
  } as const;
}

export async function newRawDatabase(raw: RawDatabases) {
  const spec = await newDatabaseSpec(raw);
  await raw.withLock(spec.name, (database) => database.ensure(spec));
  return spec;
}
