import type { components } from '@octokit/openapi-types';

type Schemas = components['schemas'];

export type Account = Pick<
  Schemas['simple-user'],
  'login' | 'id' | 'node_id' | 'avatar_url' | 'url' | 'html_url' | 'type' | 'site_admin'
>;

export type OwnAccount = Account & Pick<Schemas['private-user'], 'name' | 'email'>;

export type RepositoryJson = Pick<
  Schemas['full-repository'],
  | ('id' | 'node_id' | 'name' | 'full_name' | 'private' | 'html_url' | 'description' | 'fork' | 'url')
  | ('clone_url' | 'default_branch' | 'visibility' | 'archived' | 'disabled' | 'size')
  | ('pushed_at' | 'created_at' | 'updated_at' | 'permissions')
> & { owner: Account };

export type InstallationJson = Pick<
  Schemas['installation'],
  | ('id' | 'repository_selection' | 'access_tokens_url' | 'repositories_url' | 'html_url' | 'app_id')
  | ('target_id' | 'target_type' | 'permissions' | 'events' | 'created_at' | 'updated_at')
  | ('single_file_name' | 'app_slug' | 'suspended_by' | 'suspended_at' | 'client_id')
> & { account: Account };

export type AppJson = Pick<
  NonNullable<Schemas['integration']>,
  | ('id' | 'slug' | 'node_id' | 'client_id' | 'name' | 'description' | 'external_url' | 'html_url')
  | ('created_at' | 'updated_at' | 'permissions' | 'events')
> & { owner: Account };

export type InstallationTokenJson = Pick<
  Schemas['installation-token'],
  'token' | 'expires_at' | 'permissions' | 'repository_selection'
> & { repositories?: RepositoryJson[] };

export type CommitJson = Pick<
  Schemas['commit'],
  'url' | 'sha' | 'node_id' | 'html_url' | 'comments_url' | 'commit' | 'author' | 'committer' | 'parents'
>;

export type TreeJson = Pick<Schemas['git-tree'], 'sha' | 'url' | 'truncated' | 'tree'>;

export type BranchJson = Pick<
  Schemas['branch-with-protection'],
  'name' | '_links' | 'protected' | 'protection' | 'protection_url'
> & { commit: CommitJson };

export type FileJson = Schemas['content-file'];
export type SymlinkJson = Schemas['content-symlink'];
export type FolderJson = Schemas['content-directory'];

export type HookJson = Pick<
  Schemas['hook'],
  | ('type' | 'id' | 'name' | 'active' | 'events' | 'config' | 'updated_at' | 'created_at' | 'url')
  | ('test_url' | 'ping_url' | 'last_response')
>;

export type RateLimitJson = Schemas['rate-limit-overview'];
export type MetaJson = Pick<Schemas['api-overview'], 'verifiable_password_authentication'>;

export type PushEvent = Pick<
  Schemas['webhook-push'],
  'ref' | 'before' | 'after' | 'created' | 'deleted' | 'forced' | 'base_ref' | 'compare'
> & {
  commits: PushCommit[];
  head_commit: PushCommit | null;
  pusher: { name: string; email: string };
  repository: Omit<RepositoryJson, 'permissions'>;
  organization: Pick<Account, 'login' | 'id'>;
  sender: Account;
  installation: { id: number; node_id: string };
};

export type PushCommit = Pick<
  NonNullable<Schemas['webhook-push']['head_commit']>,
  'id' | 'tree_id' | 'distinct' | 'message' | 'timestamp' | 'url' | 'author' | 'committer'
>;
