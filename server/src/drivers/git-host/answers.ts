import { z } from 'zod';
import type { Commit, GitAccount, Installation, Repository, TreeEntry } from './git-host.ts';

/** What of the answers of a git host is used here. Anything else, such as the page of a proxy, does not pass. */

export const AccountAnswer = z.object({ id: z.int(), login: z.string().min(1), type: z.string() }).transform(
  ({ id, login, type }): GitAccount => ({
    id,
    login,
    kind: type === 'Organization' ? 'organization' : 'user',
  }),
);

export const InstallationAnswer = z
  .object({
    id: z.int(),
    account: AccountAnswer,
    repository_selection: z.enum(['all', 'selected']),
    suspended_at: z.string().nullish(),
  })
  .transform(
    ({ id, account, repository_selection }): Installation => ({
      id,
      account,
      repositories: repository_selection,
    }),
  );

export const InstallationsAnswer = z.object({
  total_count: z.int(),
  installations: z.array(InstallationAnswer),
});

export const RepositoryAnswer = z
  .object({
    id: z.int(),
    name: z.string(),
    owner: z.object({ login: z.string() }),
    private: z.boolean(),
    size: z.number(),
    default_branch: z.string(),
    description: z.string().nullish(),
    html_url: z.string(),
    clone_url: z.string(),
    permissions: z.object({ push: z.boolean().optional() }).optional(),
  })
  .transform(
    (repo): Repository => ({
      id: repo.id,
      owner: repo.owner.login,
      name: repo.name,
      isPrivate: repo.private,
      isEmpty: repo.size === 0,
      defaultBranch: repo.default_branch,
      canPush: repo.permissions?.push ?? false,
      description: repo.description ?? '',
      webUrl: repo.html_url,
      cloneUrl: repo.clone_url,
    }),
  );

export const RepositoriesAnswer = z.object({
  total_count: z.int(),
  repositories: z.array(RepositoryAnswer),
});

export const CommitAnswer = z
  .object({
    sha: z.string(),
    commit: z.object({ message: z.string(), tree: z.object({ sha: z.string() }) }),
  })
  .transform(({ sha, commit }): Commit => ({ sha, message: commit.message, treeSha: commit.tree.sha }));

export const TreeAnswer = z
  .object({
    truncated: z.boolean(),
    tree: z.array(
      z.object({
        path: z.string(),
        mode: z.string(),
        type: z.string(),
        size: z.number().optional(),
      }),
    ),
  })
  .transform(({ truncated, tree }) => ({
    isWhole: !truncated,
    entries: tree.map((item): TreeEntry => ({ path: item.path, kind: kindOf(item), bytes: item.size ?? 0 })),
  }));

function kindOf({ mode, type }: { mode: string; type: string }): TreeEntry['kind'] {
  if (type === 'tree') return 'folder';
  if (type === 'commit') return 'submodule';
  return mode === '120000' ? 'symlink' : 'file';
}

/** A folder is answered with a list. */
export const ContentAnswer = z.union([
  z.array(z.object({ type: z.string() })).transform(() => null),
  z.object({
    type: z.string(),
    size: z.number(),
    encoding: z.string().optional(),
    content: z.string().optional(),
  }),
]);

export const HookAnswer = z.object({ id: z.int(), config: z.object({ url: z.string().optional() }) });
export const HooksAnswer = z.array(HookAnswer);

export const AppAnswer = z.object({ slug: z.string().optional(), name: z.string() });

export const DeviceCodeAnswer = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1).max(50),
  verification_uri: z.string(),
  expires_in: z.number().min(1).max(86_400),
  interval: z.number().min(1).max(3_600).default(5),
});

export const TokensAnswer = z.object({
  access_token: z.string().min(1),
  expires_in: z.number().optional(),
  refresh_token: z.string().optional(),
  refresh_token_expires_in: z.number().optional(),
});

/** Refusals of the sign-in come with 200 or with 400. */
export const RefusalAnswer = z.object({
  error: z.string(),
  error_description: z.string().optional(),
  interval: z.number().optional(),
});

/** As the host itself refuses; what stands between may answer with the same status, and says something else. */
export const ErrorAnswer = z.object({
  message: z.string(),
  errors: z.array(z.unknown()).optional(),
});
