import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import type { ConnectorRow } from './store.ts';

export const connectorKey = declareSealingKey({
  name: 'connectors.sealing_key',
  protects: 'Passwords of data connectors',
  columns: { 'connectors.password_sealed': 'id::text' },
});

export async function sealPassword(
  db: Db,
  { id, password }: { id: string; password: string },
): Promise<Buffer | null> {
  if (password === '') return null;
  return seal(await sealingKey(db, connectorKey), { text: password, boundTo: id });
}

export async function unsealPassword(
  db: Db,
  { id, password_sealed: sealed }: Pick<ConnectorRow, 'id' | 'password_sealed'>,
): Promise<string> {
  return sealed === null ? '' : unseal(await sealingKey(db, connectorKey), { sealed, boundTo: id });
}
