import type { Db } from '../plumbing/db.ts';
import { seal, sealingKey, unseal } from '../plumbing/seal.ts';

const keyName = 'raw_db.sealing_key';

/** The password is needed again for the app's environment, so it can not be kept as a hash. */
export async function sealPassword(db: Db, login: { database: string; password: string }): Promise<Buffer> {
  return seal(await sealingKey(db, keyName), { text: login.password, boundTo: login.database });
}

/** Only for the database that it was sealed for. */
export async function openPassword(
  db: Db,
  row: { database: string; password_sealed: Buffer },
): Promise<string> {
  return unseal(await sealingKey(db, keyName), { sealed: row.password_sealed, boundTo: row.database });
}
