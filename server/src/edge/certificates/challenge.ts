import type { Db } from '../../core/db.ts';
import { findChallenge } from './store.ts';

export const challengePrefix = '/.well-known/acme-challenge/';

/** The key authorization for an ACME token; null if the token is unknown. */
export type ChallengeLookup = (token: string) => Promise<string | null>;

export function createChallengeLookup({ db }: { db: Db }): ChallengeLookup {
  // The endpoint is public: text that cannot be a token is not looked up.
  return async (token) => (/^[A-Za-z0-9_-]{16,256}$/.test(token) ? await findChallenge(db, token) : null);
}
