import { detectFolder } from '@svc/contract/detect/detect.ts';
import { unknownSettings } from '@svc/contract/detect/settings.ts';
import { isDetectable, type SourceFiles, sourceFileBytesMax } from '@svc/contract/detect/source-files.ts';
import type { Detection, detectRepository as shape } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import type { TenantCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { RepoName, RepositoryReader, TreeEntry } from '../../drivers/git/git-host.ts';
import type { GitDeps } from '../git-connections/rules.ts';
import { withGitUser } from '../git-connections/user-tokens.ts';

const incompleteList = 'has more files than the git host lists';
const noFiles: SourceFiles = { paths: new Set(), read: async () => null };

export function detectRepository(
  ctx: TenantCtx,
  input: z.output<typeof shape.query>,
  parts: GitDeps,
): Promise<z.output<typeof Detection>> {
  const [owner = '', name = ''] = input.repo.split('/');
  const folder = (input.path ?? '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
  return withGitUser(parts, { tenantId: ctx.tenant.id, userId: ctx.caller.userId }, async (user) => {
    const repo = await user.repository({ owner, name });
    if (!repo)
      throw fail('not_found', { detail: `Your git account has no access to a repository ${input.repo}.` });
    const ref = input.ref ?? repo.defaultBranch;
    const commit = await user.commit(repo, ref);
    if (!commit) throw fail('not_found', { detail: `${input.repo} has nothing at ${ref}.` });
    const { entries, isWhole } = await user.tree(repo, commit.treeSha);
    const filesIn = (path: string) =>
      repositoryFiles(user, { repo, sha: commit.sha, entries, folder: path }) ?? (isWhole ? null : noFiles);
    // A folder that an incomplete list lacks may exist all the same.
    const files = filesIn(folder);
    if (!files) throw fail('not_found', { detail: `${input.repo} has no folder ${folder} at ${ref}.` });
    const { detected } = await detectFolder(filesIn('') ?? noFiles, folder || '.', files);
    const { options, packageManager, evidence } = detected;
    const [best = unknownSettings, ...alternatives] = options;
    return {
      repo: `${repo.owner}/${repo.name}`,
      ref,
      commit: commit.sha,
      path: folder,
      ...best,
      package_manager: packageManager,
      evidence: isWhole ? evidence : [...evidence, { file: folder || '.', says: incompleteList }],
      alternatives,
    };
  });
}

export function repositoryFiles(
  reader: Pick<RepositoryReader, 'readFile'>,
  source: { repo: RepoName; sha: string; entries: readonly TreeEntry[]; folder: string },
): SourceFiles | null {
  const { repo, sha, entries, folder } = source;
  const prefix = folder === '' ? '' : `${folder}/`;
  const files = entries.filter(({ kind, path }) => kind === 'file' && path.startsWith(prefix));
  if (prefix !== '' && files.length === 0) return null;
  const paths = new Set(files.map(({ path }) => path.slice(prefix.length)).filter(isDetectable));
  return {
    paths,
    read: async (path) =>
      paths.has(path)
        ? reader.readFile(repo, { path: prefix + path, ref: sha, bytesMax: sourceFileBytesMax })
        : null,
  };
}
