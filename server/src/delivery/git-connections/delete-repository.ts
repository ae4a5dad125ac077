import type { TenantMutationCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { deleteRepoRow, findRepoRow, lockRepoForUpdate } from '../git-host/repos-store.ts';
import { removeFolderTopic } from '../git-host/repository-folders.ts';
import { listConnectedRepos } from './connected-apps.ts';
import { listConnectionRowsOfRepo } from './connection-store.ts';
import { type GitDeps, tenantUser } from './deps.ts';

/** Of the built-in git host, and by whoever may push to it. Other hosts have their own confirmation for it. */
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
  const repo = found && (await lockRepoForUpdate(ctx.db, found.id));
  if (!repo) throw fail('not_found');
  const user = tenantUser(ctx);
  const connected = await listConnectedRepos(ctx.db, { ...user, host: gitHost.webUrl });
  const isOwn = repo.created_by === user.userId || connected.some(({ repoId }) => repoId === repo.id);
  if (!isOwn) throw fail(repo.is_private ? 'not_found' : 'forbidden');
  const uses = await listConnectionRowsOfRepo(ctx.db, { host: gitHost.webUrl, repoId: repo.id });
  if (uses.length > 0)
    ctx.warn(
      `${uses.length === 1 ? 'An app is' : `${uses.length} apps are`} connected to it and can no longer be deployed from it; what is live stays live.`,
    );
  await deleteRepoRow(ctx.db, ctx.tenant.id, repo.id);
  ctx.audit({
    action: 'gitHost.deleteRepository',
    target: { kind: 'repository', id: String(repo.id), name: `${ctx.tenant.slug}/${repo.name}` },
    before: { name: repo.name, private: repo.is_private, description: repo.description },
    after: null,
  });
  ctx.enqueue(removeFolderTopic, { folder: repo.folder });
}
