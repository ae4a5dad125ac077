import { deleteGrants } from '../identity/oauth-models.ts';
import { userTag } from '../identity/tags.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { grantsEndingWith, sessionId, sessionKind } from './rules.ts';
import { deleteSession, listSignInNames, lockSignInRow } from './store.ts';

/** Ends one of the caller's own sign-ins with all its tokens. */
export async function revokeSession(ctx: MutationCtx, { session }: { session: string }): Promise<void> {
  const { userId } = ctx.caller;
  const named = (await listSignInNames(ctx.db, userId)).find((row) => sessionId(row) === session);
  const row = named && (await lockSignInRow(ctx.db, userId, named.id_hash));
  if (!row) throw fail('not_found');
  if (row.kind === 'Session') {
    await deleteGrants(ctx.db, { userId, hashes: grantsEndingWith(row.payload) });
    await deleteSession(ctx.db, userId, row.id_hash);
  } else {
    await deleteGrants(ctx.db, { userId, hashes: [row.id_hash] });
  }
  ctx.audit({
    action: 'sessions.revoke',
    target: { kind: 'session', id: session, name: ctx.caller.email },
    before: { kind: sessionKind(row), client: row.client_id ?? '' },
    after: null,
  });
  // Of the person, not of the one record: it covers every token under the grant without listing them.
  ctx.changed(userTag(userId));
}
