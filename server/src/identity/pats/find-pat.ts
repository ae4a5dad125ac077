import { crc32 } from 'node:zlib';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { findPatRowByHash, markUsed } from './store.ts';

export type PatCredential = NonNullable<Awaited<ReturnType<typeof findPatByHash>>>;

/** Does not check expiry; the caller does. */
export async function findPatByHash(db: Db, hash: string) {
  const row = await findPatRowByHash(db, hash);
  if (!row) return null;
  const { id, tenant_id, user_id, actions, apps, expires_at } = row;
  return { id, tenantId: tenant_id, userId: user_id, actions, apps, expiresAt: expires_at };
}

/** Updates `last_used_at` at most once a minute, without delaying the request. */
export function createUseRecorder(
  deps: { db: Db; now: () => Date; log: Logger },
  save: typeof markUsed = markUsed,
): (token: { id: string; tenantId: string }) => void {
  const recordedAt = new Map<string, number>();
  return ({ id, tenantId }) => {
    const at = deps.now();
    if (at.getTime() - (recordedAt.get(id) ?? 0) < recordIntervalMs) return;
    // A lost entry costs one extra statement, so the whole map can be dropped.
    if (recordedAt.size >= entriesMax) recordedAt.clear();
    recordedAt.set(id, at.getTime());
    const ifBefore = new Date(at.getTime() - recordIntervalMs);
    save(deps.db, tenantId, id, { at, ifBefore }).catch((error: unknown) => {
      deps.log.warn({ err: error, token: id }, 'recording the last use of a token failed');
    });
  };
}

const recordIntervalMs = 60_000;
const entriesMax = 10_000;

export type TokenPrefix = 'svcpat_' | 'svcsat_' | 'svcapp_' | 'svcren_';

/** Prefix, 30 random base62 characters, 6 of a checksum: scanners find leaked tokens, and mistyped ones cost no query. */
export function makeToken(prefix: TokenPrefix): string {
  const random = randomBase62(randomChars);
  return prefix + random + checksum(random);
}

export function parseTokenPrefix(text: string): TokenPrefix | null {
  const [, prefix, random = ''] = pattern.exec(text) ?? [];
  return prefix !== undefined && text.endsWith(checksum(random)) ? (prefix as TokenPrefix) : null;
}

export const makePat = () => makeToken('svcpat_');
export const isWellFormedPat = (text: string) => parseTokenPrefix(text) === 'svcpat_';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 30;
const checksumChars = 6;
const pattern = new RegExp(
  `^(svc(?:pat|sat|app|ren)_)([0-9A-Za-z]{${randomChars}})[0-9A-Za-z]{${checksumChars}}$`,
);
/** The largest multiple of 62 below 256: higher bytes would favour the first letters. */
const fairBelow = 256 - (256 % alphabet.length);

function randomBase62(length: number): string {
  const bytes = new Uint8Array(length + 10);
  let text = '';
  while (text.length < length) {
    crypto.getRandomValues(bytes);
    for (const byte of bytes) {
      if (byte < fairBelow && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

function checksum(random: string): string {
  let rest = crc32(random);
  let text = '';
  for (let digit = 0; digit < checksumChars; digit++) {
    text = alphabet.charAt(rest % alphabet.length) + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
