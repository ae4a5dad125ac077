import type { Db } from '../plumbing/db.ts';
import { findChallenge } from './store.ts';

export const challengePrefix = '/.well-known/acme-challenge/';

/** What an authority that comes with a token is to be answered with; null: it is none of ours. */
export type ChallengeAnswer = (token: string) => Promise<string | null>;

export function createChallengeAnswer({ db }: { db: Db }): ChallengeAnswer {
  // Anybody can ask: what can be no token is not looked up.
  return async (token) => (/^[A-Za-z0-9_-]{16,256}$/.test(token) ? await findChallenge(db, token) : null);
}
