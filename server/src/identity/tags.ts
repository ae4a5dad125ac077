/** What caches are told has changed. Whoever ends a right calls `ctx.changed` with one of these. */

/** One token, session or personal access token, by the SHA-256 of its secret. */
export const credentialTag = (hash: string) => `credential:${hash}`;

/** Everything that rests on a person: their credentials and their memberships. */
export const userTag = (userId: string) => `user:${userId}`;
