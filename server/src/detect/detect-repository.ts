import type { Detection, detectRepository as shape } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import { asGitUser } from '../git-connections/as-git-user.ts';
import type { GitParts } from '../git-connections/git-parts.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { detectSource } from './detect-source.ts';
import { noWay } from './detected.ts';
import { repositoryFiles } from './repository-files.ts';
import type { SourceFiles } from './source-files.ts';

const cutOff = 'the list of files was cut off';
const nothingListed: SourceFiles = { paths: new Set(), read: async () => null };

/** With what the caller's own account can read, and nothing else. */
export function detectRepository(
  ctx: TenantCtx,
  input: z.output<typeof shape.query>,
  parts: GitParts,
): Promise<z.output<typeof Detection>> {
  const [owner = '', name = ''] = input.repo.split('/');
  const folder = (input.path ?? '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  return asGitUser(parts, who, async (user) => {
    const repo = await user.repository({ owner, name });
    if (!repo)
      throw fail('not_found', { detail: `The repository ${input.repo} is not there for your account.` });
    const ref = input.ref ?? repo.defaultBranch;
    const commit = await user.commit(repo, ref);
    if (!commit) throw fail('not_found', { detail: `${input.repo} has nothing at ${ref}.` });
    const { entries, isWhole } = await user.tree(repo, commit.treeSha);
    const listed = repositoryFiles(user, { repo, sha: commit.sha, entries, folder });
    // What is not in a list that was cut off may be there all the same.
    const files = listed ?? (isWhole ? null : nothingListed);
    if (!files) throw fail('not_found', { detail: `${input.repo} has no folder ${folder} at ${ref}.` });
    const { ways, packageManager, evidence } = await detectSource(files);
    const [best = noWay, ...alternatives] = ways;
    return {
      repo: `${repo.owner}/${repo.name}`,
      ref,
      commit: commit.sha,
      path: folder,
      ...best,
      package_manager: packageManager,
      evidence: isWhole ? evidence : [...evidence, { file: folder || '.', says: cutOff }],
      alternatives,
    };
  });
}
