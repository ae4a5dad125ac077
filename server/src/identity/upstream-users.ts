import type { MutationCtx } from '../plumbing/context.ts';
import type { Db, Tx } from '../plumbing/db.ts';
import { createUser } from '../users/create-user.ts';
import type { UpstreamIdentity } from './upstream-client.ts';

type Tables = { user_links: { issuer: string; subject: string; user_id: string; created_at: Date } };

/** Who someone of the outside provider is here, by its name for them and nothing else. */
export async function findUpstreamUser(
  db: Db,
  { issuer, subject }: Pick<UpstreamIdentity, 'issuer' | 'subject'>,
): Promise<string | null> {
  const link = await db
    .withTables<Tables>()
    .selectFrom('user_links')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return link?.user_id ?? null;
}

/**
 * Someone new becomes a user, in no tenant. An address that a user here has already is refused and never linked:
 * whoever controls an address over there need not be the person who has it here.
 */
export async function createUpstreamUser(
  ctx: MutationCtx,
  identity: { issuer: string; subject: string; email: string; name: string | null },
): Promise<string> {
  const { issuer, subject, email, name } = identity;
  const user = await createUser(ctx, { email, ...(name === null ? {} : { name }) });
  await insertLink(ctx.db, { issuer, subject, user_id: user.id, created_at: ctx.now });
  ctx.audit({
    action: 'users.link',
    target: { kind: 'user', id: user.id, name: user.email },
    before: null,
    after: { issuer, subject },
  });
  return user.id;
}

async function insertLink(tx: Tx, link: Tables['user_links']): Promise<void> {
  await tx.withTables<Tables>().insertInto('user_links').values(link).execute();
}
