import { randomBytes } from 'node:crypto';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

/** Under which databases are marked as ours. A restore forgets it: the copy must not take the original's for its own. */
export const installationKey = 'raw_db.installation';

export function installationId(db: Db): Promise<string> {
  return keptKey(db, installationKey, async () => randomBytes(12).toString('hex'));
}
