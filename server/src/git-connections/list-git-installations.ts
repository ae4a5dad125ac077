import type { Repository } from '../drivers/git-host/git-host.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, pageOf, windowOf } from '../plumbing/paging.ts';
import { fail } from '../plumbing/problem.ts';
import { asGitUser } from './as-git-user.ts';
import type { GitParts } from './git-parts.ts';
import { installationRecord, repositoryRecord } from './rules.ts';

const personOf = (ctx: TenantCtx) => ({ tenantId: ctx.tenant.id, userId: ctx.caller.userId });

export async function listGitInstallations(ctx: TenantCtx, query: PageQuery, parts: GitParts) {
  const all = await asGitUser(parts, personOf(ctx), (user) => user.installations());
  return pageOf(query, all.map(installationRecord));
}

/** As many at once as hosts give out. */
const hostPerPageMax = 100;

/** A page of ours that is larger than theirs is cut from as many of theirs as it takes. */
export async function listGitRepositories(
  ctx: TenantCtx,
  { installation, ...query }: PageQuery & { installation: number },
  parts: GitParts,
) {
  const perPage = Math.min(query.per_page, hostPerPageMax);
  const { offset, limit } = windowOf(query);
  const first = Math.floor(offset / perPage);
  return asGitUser(parts, personOf(ctx), async (user) => {
    const items: Repository[] = [];
    let total = 0;
    for (let page = first; page * perPage < offset + limit; page++) {
      const found = await user.repositories(installation, { page: page + 1, perPage });
      if (!found) throw fail('not_found');
      items.push(...found.items);
      total = found.total;
      if (found.items.length < perPage) break;
    }
    const skipped = offset - first * perPage;
    return pageAnswer(query, items.slice(skipped, skipped + limit).map(repositoryRecord), total);
  });
}
