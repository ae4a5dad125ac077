import { randomBytes } from 'node:crypto';
import type { Db } from '../plumbing/db.ts';
import { keptKey } from '../plumbing/kept-key.ts';

/** Of the names of images: known to all copies of the server, and to nobody who could ask an engine for an image. */
export function imageKey(db: Db): Promise<string> {
  return keptKey(db, 'runtime.image_key', async () => randomBytes(32).toString('base64url'));
}
