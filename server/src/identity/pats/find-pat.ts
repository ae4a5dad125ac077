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
export function createPatUseRecorder(deps: {
  db: Db;
  now: () => Date;
  log: Logger;
}): (pat: Pick<PatCredential, 'id' | 'tenantId'>) => void {
  const recordedAt = new Map<string, number>();
  return ({ id, tenantId }) => {
    const at = deps.now();
    if (at.getTime() - (recordedAt.get(id) ?? 0) < recordIntervalMs) return;
    // A lost entry costs one extra statement, so the whole map can be dropped.
    if (recordedAt.size >= entriesMax) recordedAt.clear();
    recordedAt.set(id, at.getTime());
    const ifBefore = new Date(at.getTime() - recordIntervalMs);
    markUsed(deps.db, tenantId, id, { at, ifBefore }).catch((error: unknown) => {
      deps.log.warn({ err: error, pat: id }, 'recording the last use of a token failed');
    });
  };
}

const recordIntervalMs = 60_000;
const entriesMax = 10_000;

/**
 * `svcpat_`, 30 random base62 characters, 6 checksum characters. The prefix lets scanners find leaked tokens;
 * the checksum rejects mistyped ones without a query.
 */
export function makePat(): string {
  const random = randomBase62(randomChars);
  return prefix + random + checksum(random);
}

export function isWellFormedPat(text: string): boolean {
  if (!pattern.test(text)) return false;
  const random = text.slice(prefix.length, prefix.length + randomChars);
  return text.endsWith(checksum(random));
}

const prefix = 'svcpat_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 30;
const checksumChars = 6;
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomChars + checksumChars}}$`);
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
