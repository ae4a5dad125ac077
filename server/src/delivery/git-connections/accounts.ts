import { findAppRow } from '../../apps/record/find-app.ts';
import type { MutationCtx, TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { type PageQuery, pageWindow, paginate, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import type { GitAccount, Repository, UserTokens } from '../../drivers/git/git-host.ts';
import { deleteRepoRow, findRepoRow, lockRepoForUpdate } from '../git-host/host-store.ts';
import { removeFolderTopic } from '../git-host/repositories.ts';
import { revokeUserTokens } from '../git-host/tokens.ts';
import { listConnectedRepos } from './connected-apps.ts';
import {
  deleteLinkRow,
  insertLinkRow,
  type LinkRow,
  listConnectionRowsOfRepo,
  listLinkRows,
  lockLinkRow,
  lockLinkRowByHost,
  updateLinkRow,
} from './connection-store.ts';
import {
  accountRecord,
  type GitDeps,
  installationRecord,
  repositoryRecord,
  type TenantUser,
  tenantUser,
} from './rules.ts';
import { sealTokens, withGitUser } from './user-tokens.ts';

export async function listGitAccounts(ctx: TenantCtx, query: PageQuery) {
  return paginate(query, (await listLinkRows(ctx.db, tenantUser(ctx))).map(accountRecord));
}

export async function storeLink(
  ctx: MutationCtx,
  user: TenantUser,
  { host, tokens, account }: { host: string; tokens: UserTokens; account: GitAccount },
): Promise<LinkRow> {
  const { id, isNew } = await planLink(ctx, user, host);
  const set = {
    account_id: account.id,
    login: account.login,
    kind: account.kind,
    linked_at: ctx.now,
    ...(await sealTokens(ctx.db, id, tokens)),
  };
  if (!isNew) return updateLinkRow(ctx.db, user, id, set);
  const row = { id, tenant_id: user.tenantId, user_id: user.userId, host, ...set };
  const inserted = await insertLinkRow(ctx.db, row);
  if (inserted) return inserted;
  const other = await lockLinkRowByHost(ctx.db, user, host);
  if (!other) throw new Error('The linked git account was deleted concurrently.');
  return updateLinkRow(ctx.db, user, other.id, { ...set, ...(await sealTokens(ctx.db, other.id, tokens)) });
}

/** Audits only what a preview knows as well: the account itself is known after approval. */
export async function planLink(ctx: MutationCtx, user: TenantUser, host: string) {
  const present = await lockLinkRowByHost(ctx.db, user, host);
  const id = present?.id ?? ctx.newId();
  ctx.audit({
    action: 'gitHost.pollLink',
    target: { kind: 'git_account', id, name: host },
    before: present ? { linked_at: present.linked_at } : null,
    after: present ? { linked_at: ctx.now } : { host, linked_at: ctx.now },
  });
  return { id, isNew: !present };
}

/** Tokens of the built-in host are revoked here; those of other hosts can be revoked on their own pages. */
export async function unlinkGitAccount(
  ctx: TenantMutationCtx,
  { id }: { id: string },
  { gitHost }: Pick<GitDeps, 'gitHost'>,
): Promise<undefined> {
  const user = tenantUser(ctx);
  const row = orNotFound(await lockLinkRow(ctx.db, user, id));
  await deleteLinkRow(ctx.db, user, row.id);
  if (gitHost.isBuiltIn && row.host === gitHost.webUrl) await revokeUserTokens(ctx.db, user);
  ctx.audit({
    action: 'gitHost.unlink',
    target: { kind: 'git_account', id: row.id, name: row.host },
    before: { host: row.host, login: row.login, linked_at: row.linked_at },
    after: null,
  });
}

export async function listGitInstallations(ctx: TenantCtx, query: PageQuery, deps: GitDeps) {
  const all = await withGitUser(deps, tenantUser(ctx), (user) => user.installations());
  return paginate(query, all.map(installationRecord));
}

const hostPerPageMax = 100;

export async function listGitRepositories(
  ctx: TenantCtx,
  { installation, ...query }: PageQuery & { installation: number },
  deps: GitDeps,
) {
  const perPage = Math.min(query.per_page, hostPerPageMax);
  const { offset, limit } = pageWindow(query);
  const first = Math.floor(offset / perPage);
  return withGitUser(deps, tenantUser(ctx), async (user) => {
    const items: Repository[] = [];
    let total = 0;
    for (let page = first; page * perPage < offset + limit; page++) {
      const found = orNotFound(await user.repositories(installation, { page: page + 1, perPage }));
      items.push(...found.items);
      total = found.total;
      if (found.items.length < perPage) break;
    }
    const skipped = offset - first * perPage;
    return toPage(query, items.slice(skipped, skipped + limit).map(repositoryRecord), total);
  });
}

/** Only at the built-in git host, for whoever may push to it. Other hosts have their own confirmation. */
export async function deleteRepository(
  ctx: TenantMutationCtx,
  { owner, name }: { owner: string; name: string },
  { gitHost }: Pick<GitDeps, 'gitHost'>,
): Promise<undefined> {
  if (!gitHost.isBuiltIn)
    throw fail('forbidden', {
      detail: `Repositories at ${gitHost.webUrl} are deleted there: ${gitHost.webUrl}/${owner}/${name}/settings`,
    });
  const found =
    owner.toLowerCase() === ctx.tenant.slug ? await findRepoRow(ctx.db, ctx.tenant.id, name) : undefined;
  const repo = orNotFound(found && (await lockRepoForUpdate(ctx.db, found.id)));
  const user = tenantUser(ctx);
  const connected = await listConnectedRepos(ctx.db, { ...user, host: gitHost.webUrl });
  const isOwn = repo.created_by === user.userId || connected.some(({ repoId }) => repoId === repo.id);
  if (!isOwn) throw fail(repo.is_private ? 'not_found' : 'forbidden');
  const uses = await listConnectionRowsOfRepo(ctx.db, { host: gitHost.webUrl, repoId: repo.id });
  for (const { tenant_id: tenantId, app_id: appId } of uses) {
    const slug = (await findAppRow(ctx.db, tenantId, appId))?.slug ?? appId;
    const again =
      repo.name === slug
        ? 'The next push creates the repository again. To connect another one, disconnect it first:'
        : 'To connect another repository, disconnect this one first:';
    ctx.warn(
      `${slug} can no longer be deployed from it; what is live stays live. ${again} svc apps git disconnect --app ${slug} --execute`,
    );
  }
  await deleteRepoRow(ctx.db, ctx.tenant.id, repo.id);
  ctx.audit({
    action: 'gitHost.deleteRepository',
    target: { kind: 'repository', id: String(repo.id), name: `${ctx.tenant.slug}/${repo.name}` },
    before: { name: repo.name, private: repo.is_private, description: repo.description },
    after: null,
  });
  ctx.enqueue(removeFolderTopic, { folder: repo.folder });
}
