import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { sha256 } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';

/** A row as the OpenID provider's adapter writes it. */
export async function writeModel(
  db: Db,
  row: {
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
  },
): Promise<void> {
  const { accountId, clientId, grantId, uid } = row.payload;
  await sql`
    insert into svc.oauth_models (kind, id_hash, payload, user_id, client_id, grant_id, uid, expires_at, consumed_at)
    values (${row.kind}, ${sha256(row.id)}, ${JSON.stringify(row.payload)}, ${accountId ?? null}, ${clientId ?? null},
      ${grantId ?? null}, ${uid ?? null}, now() + make_interval(secs => ${row.seconds ?? 3600}),
      ${row.consumed ? new Date() : null})`.execute(db);
}

/** A browser session of the user; answers the value of its cookie. */
export async function openSession(
  db: Db,
  userId: string,
  options: { uid?: string; authorizations?: Record<string, { grantId: string }>; seconds?: number } = {},
): Promise<string> {
  const id = randomBytes(16).toString('base64url');
  const { uid = randomBytes(8).toString('hex'), authorizations = {}, seconds } = options;
  const payload = { kind: 'Session', accountId: userId, uid, authorizations };
  await writeModel(db, { kind: 'Session', id, payload, ...(seconds === undefined ? {} : { seconds }) });
  return id;
}

export async function countModels(db: Db, userId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.oauth_models where user_id = ${userId}`.execute(db);
  return rows[0]?.n ?? 0;
}
