import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';

interface Model {
  kind: string;
  id: string;
  payload: {
    accountId?: string;
    clientId?: string;
    grantId?: string;
    uid?: string;
    [field: string]: unknown;
  };
  seconds?: number;
  consumed?: true;
}

export async function writeModel(db: Db, { kind, id, payload, seconds = 3600, consumed }: Model) {
  const { accountId = null, clientId = null, grantId = null, uid = null } = payload;
  await sql`
    insert into svc.oauth_models (kind, id_hash, payload, user_id, client_id, grant_id, uid, expires_at, consumed_at)
    values (${kind}, ${sha256(id)}, ${JSON.stringify(payload)}, ${accountId}, ${clientId}, ${grantId}, ${uid},
      now() + make_interval(secs => ${seconds}), ${consumed ? new Date() : null})`.execute(db);
}

export async function openSession(
  db: Db,
  userId: string,
  options: { uid?: string; authorizations?: Record<string, { grantId: string }>; seconds?: number } = {},
): Promise<string> {
  const id = randomBytes(16).toString('base64url');
  const { uid = randomBytes(8).toString('hex'), authorizations = {}, seconds } = options;
  const payload = { kind: 'Session', accountId: userId, uid, authorizations };
  await writeModel(db, { kind: 'Session', id, payload, seconds });
  return id;
}

export async function countModels(db: Db, userId: string): Promise<number> {
  const { rows } = await sql`select from svc.oauth_models where user_id = ${userId}`.execute(db);
  return rows.length;
}
