import { deleteGrants } from '../identity/oauth-models.ts';
import { userTag } from '../identity/tags.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { grantsEndingWith, sessionKind } from './rules.ts';
import { deleteSession, lockSignInRow } from './store.ts';

/** Ends one of the caller's own sign-ins with all its tokens. */
export async function revokeSession(ctx: MutationCtx, { sessionId }: { sessionId: string }): Promise<void> {
  const { userId } = ctx.caller;
  const row = hashPattern.test(sessionId) ? await lockSignInRow(ctx.db, userId, sessionId) : undefined;
  if (!row) throw fail('not_found');
  if (row.kind === 'Session') {
    await deleteGrants(ctx.db, { userId, hashes: grantsEndingWith(row.payload) });
    await deleteSession(ctx.db, userId, row.id_hash);
  } else {
    await deleteGrants(ctx.db, { userId, hashes: [row.id_hash] });
  }
  ctx.audit({
    action: 'sessions.revoke',
    target: { kind: 'session', id: row.id_hash, name: ctx.caller.email },
    before: { kind: sessionKind(row), client: row.client_id ?? '' },
    after: null,
  });
  // Of the person, not of the one record: it covers every token under the grant without listing them.
  ctx.changed(userTag(userId));
}

const hashPattern = /^[0-9a-f]{64}$/;
