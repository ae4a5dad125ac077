import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Db } from '../plumbing/db.ts';
import { sealingKey } from '../plumbing/seal.ts';

/**
 * Tokens that the platform gives to itself: they say themselves for whom they are and until when, signed. So asking the
 * host writes nothing, and there is nothing to take back: they end by themselves, soon.
 */
const Content = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('user'), userId: z.string(), until: z.number() }),
  z.object({
    kind: z.literal('installation'),
    installationId: z.int(),
    /** Null: all of the tenant's. */
    repoIds: z.array(z.int()).nullable(),
    mayWrite: z.boolean(),
    until: z.number(),
  }),
]);
export type SignedToken = z.output<typeof Content>;

/** By their beginnings people and scanners know what they are. */
const prefixes = { user: 'svcgu_', installation: 'svcgs_' } as const;
const pattern = /^svcg[us]_([\w-]+)\.([\w-]{43})$/;

/** Made when the host starts: one who only asks finds it there. */
export const tokenKey = (db: Db) => sealingKey(db, 'git_host.token_key');

export function signToken(key: Buffer, content: SignedToken): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${prefixes[content.kind]}${text}.${macOf(key, text).toString('base64url')}`;
}

export function isSignedToken(text: string): boolean {
  return pattern.test(text);
}

/** Null: it was not made here, or is over. */
export function readSignedToken(key: Buffer, token: string, now: Date): SignedToken | null {
  const [, text, mac] = pattern.exec(token) ?? [];
  if (text === undefined || mac === undefined) return null;
  if (!timingSafeEqual(macOf(key, text), Buffer.from(mac, 'base64url'))) return null;
  const content = Content.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  return content.until > now.getTime() && token.startsWith(prefixes[content.kind]) ? content : null;
}

function macOf(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(`git host token ${text}`).digest();
}
