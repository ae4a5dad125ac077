import type { GitAccount, UserTokens } from '../drivers/git-host/git-host.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { LinkedPerson } from './git-parts.ts';
import { insertLinkRow, type LinkRow, lockLinkRowAt, saveLinkRow } from './link-store.ts';
import { sealTokens } from './token-seal.ts';

/** One account per person, tenant and host: another takes the place of the one before. */
export async function keepLink(
  ctx: MutationCtx,
  who: LinkedPerson,
  { host, tokens, account }: { host: string; tokens: UserTokens; account: GitAccount },
): Promise<LinkRow> {
  const { id, isNew } = await planLink(ctx, who, host);
  const set = {
    ...{ account_id: account.id, login: account.login, kind: account.kind, linked_at: ctx.now },
    ...(await sealTokens(ctx.db, id, tokens)),
  };
  if (!isNew) return saveLinkRow(ctx.db, who, id, set);
  const row = { id, tenant_id: who.tenantId, user_id: who.userId, host, ...set };
  const made = await insertLinkRow(ctx.db, row);
  if (made) return made;
  const other = await lockLinkRowAt(ctx.db, who, host);
  if (!other) throw new Error('A link to the git host was there and is gone.');
  return saveLinkRow(ctx.db, who, other.id, { ...set, ...(await sealTokens(ctx.db, other.id, tokens)) });
}

/** Which account it will be, only the host knows; so a preview can say the same. */
export async function planLink(
  ctx: MutationCtx,
  who: LinkedPerson,
  host: string,
): Promise<{ id: string; isNew: boolean }> {
  const present = await lockLinkRowAt(ctx.db, who, host);
  const id = present?.id ?? ctx.newId();
  ctx.audit({
    action: 'gitHost.pollLink',
    target: { kind: 'git_account', id, name: host },
    before: present ? { linked_at: present.linked_at } : null,
    after: present ? { linked_at: ctx.now } : { host, linked_at: ctx.now },
  });
  return { id, isNew: !present };
}
