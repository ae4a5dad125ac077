import { randomBytes } from 'node:crypto';
import type { Caller, Ctx, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { orNotFound } from '../../core/problem.ts';
import { isUuid, sha256 } from '../../core/values.ts';
import {
  findTokenByHash,
  insertTokenRow,
  listTokenRows,
  revokeTokenRow,
  type ScimTokenRow,
} from './store.ts';

/** The prefix lets scanners find leaked tokens. */
const secretPrefix = 'svcscim_';
const hintChars = 4;

function tokenRecord({ id, name, hint, created_at, last_used_at, revoked_at }: ScimTokenRow) {
  return {
    id,
    name,
    hint,
    status: revoked_at ? ('revoked' as const) : ('active' as const),
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
  };
}

/** The secret is returned once; only its hash is stored. */
export async function createScimToken(ctx: MutationCtx, input: { tenantId: string; name: string }) {
  const secret = secretPrefix + randomBytes(32).toString('base64url');
  const row: ScimTokenRow = {
    id: ctx.newId(),
    tenant_id: input.tenantId,
    name: input.name,
    secret_hash: sha256(secret),
    hint: secret.slice(-hintChars),
    created_at: ctx.now,
    last_used_at: null,
    revoked_at: null,
  };
  await insertTokenRow(ctx.db, row);
  ctx.audit({
    action: 'scimTokens.create',
    target: { kind: 'scim_token', id: row.id, name: row.name },
    before: null,
    after: { name: row.name },
  });
  return { ...tokenRecord(row), secret };
}

export async function listScimTokens(ctx: Pick<Ctx, 'db'>, { tenantId }: { tenantId: string }) {
  return (await listTokenRows(ctx.db, tenantId)).map(tokenRecord);
}

export async function revokeScimToken(ctx: MutationCtx, input: { tenantId: string; id: string }) {
  const revoked = isUuid(input.id)
    ? await revokeTokenRow(ctx.db, input.tenantId, { id: input.id, at: ctx.now })
    : undefined;
  const row = orNotFound(revoked);
  ctx.audit({
    action: 'scimTokens.revoke',
    target: { kind: 'scim_token', id: row.id, name: row.name },
    before: { status: 'active' },
    after: { status: 'revoked' },
  });
  return tokenRecord(row);
}

export interface Directory {
  tenantId: string;
  tokenId: string;
  caller: Caller;
}

export async function findDirectory(db: Db, request: Request): Promise<Directory | null> {
  const secret = /^bearer +(svcscim_[\w-]{20,100})$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const row = secret === undefined ? undefined : await findTokenByHash(db, sha256(secret));
  if (!row) return null;
  const caller: Caller = {
    kind: 'scim',
    userId: row.id,
    email: row.name,
    name: row.name,
    credentialId: row.secret_hash,
    expiresAt: new Date(8.64e15),
  };
  return { tenantId: row.tenant_id, tokenId: row.id, caller };
}
