import type { Session } from '@svc/contract/identity.shapes.ts';
import { cliClientId } from '@svc/contract/identity.ts';
import type { z } from 'zod';
import { sha256 } from '../../core/values.ts';
import type { OauthPayload } from './models-store.ts';
import type { SignInRow } from './store.ts';

const tokenKinds: readonly string[] = ['AccessToken', 'RefreshToken'];

export type SessionRecord = z.output<typeof Session>;

/** One entry per browser session and per grant with a token. */
export function groupSessions(rows: readonly SignInRow[], currentId: string): SessionRecord[] {
  const tokensEnd = new Map<string, Date>();
  // The rows are sorted: the first token of a grant is its newest.
  const newestToken = new Map<string, SignInRow>();
  for (const row of rows) {
    if (row.grant_id === null || row.expires_at === null || !tokenKinds.includes(row.kind)) continue;
    const grant = sha256(row.grant_id);
    if (!newestToken.has(grant)) newestToken.set(grant, row);
    const end = tokensEnd.get(grant);
    if (!end || end < row.expires_at) tokensEnd.set(grant, row.expires_at);
  }
  return rows.flatMap((row) => {
    const end =
      row.kind === 'Grant' ? grantEnd(row, tokensEnd) : row.kind === 'Session' ? row.expires_at : null;
    if (!end) return [];
    // A grant is made in the browser that approves; its tokens go to the client.
    const { address, device } = newestToken.get(row.id_hash) ?? row;
    return {
      id: sessionId(row),
      kind: sessionKind(row),
      client: row.client_id ?? '',
      address: address ?? '',
      device: device ?? '',
      created_at: row.created_at.toISOString(),
      expires_at: end.toISOString(),
      current: row.id_hash === currentId,
    };
  });
}

/** A UUIDv7 from the creation time and the start of the hash, derived on read. Not a credential. */
export function sessionId({ id_hash, created_at }: Pick<SignInRow, 'id_hash' | 'created_at'>): string {
  const time = created_at.getTime().toString(16).padStart(12, '0');
  const variant = ((Number.parseInt(id_hash.charAt(3), 16) & 0x3) | 0x8).toString(16);
  const [a, b, c] = [id_hash.slice(0, 3), id_hash.slice(4, 7), id_hash.slice(7, 19)];
  return `${time.slice(0, 8)}-${time.slice(8)}-7${a}-${variant}${b}-${c}`;
}

export function sessionKind(row: Pick<SignInRow, 'kind' | 'client_id'>): SessionRecord['kind'] {
  if (row.kind === 'Session') return 'browser';
  return row.client_id === cliClientId ? 'cli' : 'app';
}

/** Hashes of grants that end with the browser session. */
export function listGrantsOfSession(session: OauthPayload): string[] {
  return Object.values(session.authorizations ?? {}).flatMap(({ grantId, persistsLogout }) =>
    grantId === undefined || persistsLogout ? [] : [sha256(grantId)],
  );
}

export function earliest(a: Date, b: Date): Date {
  return a < b ? a : b;
}

function grantEnd(grant: SignInRow, tokensEnd: ReadonlyMap<string, Date>): Date | null {
  const end = tokensEnd.get(grant.id_hash) ?? null;
  return end && grant.expires_at ? earliest(end, grant.expires_at) : end;
}
