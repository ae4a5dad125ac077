import type { AppMutationCtx } from '../plumbing/context.ts';
import { deleteAppMemberRow } from './members-store.ts';
import type { AppRow } from './store.ts';

/** False where they were not invited. For who becomes an owner as well: everybody stands in one place. */
export async function endAppMembership(
  ctx: AppMutationCtx,
  { app, person }: { app: Pick<AppRow, 'id' | 'slug'>; person: { id: string; email: string } },
): Promise<boolean> {
  const ended = await deleteAppMemberRow(ctx.db, ctx.tenant.id, { appId: app.id, userId: person.id });
  if (!ended) return false;
  ctx.audit({
    action: 'appMembers.remove',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { member: { user_id: person.id, email: person.email } },
    after: { member: null },
  });
  return true;
}
