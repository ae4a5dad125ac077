import type { Db } from '../plumbing/db.ts';
import { seal, sealingKey, unseal } from '../plumbing/seal.ts';
import type { EnvRow } from './store.ts';

const keyName = 'app_env.sealing_key';

interface Of {
  appId: string;
  name: string;
}

/** A value is needed again as it is, by the app alone. Bound to app and name: moved to another row it does not open. */
export async function sealValue(db: Db, { appId, name, value }: Of & { value: string }): Promise<Buffer> {
  return seal(await sealingKey(db, keyName), { text: value, boundTo: boundTo({ appId, name }) });
}

/** All of an app's, by name. */
export async function openValues(db: Db, rows: readonly EnvRow[]): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map();
  const key = await sealingKey(db, keyName);
  return new Map(
    rows.map(({ app_id: appId, name, value_sealed: sealed }) => [
      name,
      unseal(key, { sealed, boundTo: boundTo({ appId, name }) }),
    ]),
  );
}

function boundTo({ appId, name }: Of): string {
  return `${appId} ${name}`;
}
