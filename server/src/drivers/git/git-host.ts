/** Methods return null both for what does not exist and for what the credential cannot see. */
export interface GitHost {
  readonly webUrl: string;
  /** Users of the platform have accounts at the built-in host without linking. */
  readonly isBuiltIn: boolean;
  beginDeviceFlow(): Promise<DeviceGrant>;
  pollDeviceFlow(deviceCode: string): Promise<DevicePoll>;
  refresh(refreshToken: string): Promise<UserTokens | null>;
  installUrl(state: string): string;
  remoteUrl(repo: RepoName): string;
  asUser(token: string): GitHostUser;
  installationOfRepo(repo: RepoName): Promise<Installation | null>;
  installationOfOwner(owner: string): Promise<Installation | null>;
  installation(id: number): Promise<Installation | null>;
  /** Limited to one repository by ID, since its name may be reused. Methods throw `not_found` if it was deleted. */
  asInstallation(id: number, repo?: { id: number }): GitHostInstallation;
  isSigned(body: string, signature: string | null): Promise<boolean>;
  check(): Promise<{ ok: boolean; detail: string }>;
}

export interface RepoName {
  owner: string;
  name: string;
}

export interface DeviceGrant {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  expiresInSeconds: number;
  intervalSeconds: number;
}

export type DevicePoll =
  | { status: 'pending' }
  | { status: 'slow_down'; intervalSeconds: number }
  | { status: 'expired' | 'denied' | 'unknown' }
  | { status: 'approved'; tokens: UserTokens };

export interface UserTokens {
  token: string;
  expiresAt: Date | null;
  refreshToken: string | null;
  refreshExpiresAt: Date | null;
}

export interface GitAccount {
  id: number;
  login: string;
  kind: 'user' | 'organization';
}

export interface Installation {
  id: number;
  account: GitAccount;
  repositories: 'all' | 'selected';
}

export interface Repository {
  id: number;
  owner: string;
  name: string;
  isPrivate: boolean;
  isEmpty: boolean;
  defaultBranch: string;
  canPush: boolean;
  description: string;
  webUrl: string;
  cloneUrl: string;
}

export interface Commit {
  sha: string;
  message: string;
  treeSha: string;
}

export interface TreeEntry {
  path: string;
  kind: 'file' | 'folder' | 'symlink' | 'submodule';
  bytes: number;
}

export interface RepositoryReader {
  repository(repo: RepoName): Promise<Repository | null>;
  commit(repo: RepoName, ref: string): Promise<Commit | null>;
  tree(repo: RepoName, treeSha: string): Promise<{ entries: TreeEntry[]; isWhole: boolean }>;
  readFile(repo: RepoName, file: { path: string; ref: string; bytesMax: number }): Promise<string | null>;
}

export interface GitHostUser extends RepositoryReader {
  account(): Promise<GitAccount>;
  installations(): Promise<Installation[]>;
  repositories(
    installationId: number,
    page: { page: number; perPage: number },
  ): Promise<{ items: Repository[]; total: number } | null>;
}

export interface GitHostInstallation extends RepositoryReader {
  createRepository(repository: {
    owner: GitAccount;
    name: string;
    isPrivate: boolean;
    description: string;
    userToken: string;
  }): Promise<Repository>;
  findHook(repo: RepoName, url: string): Promise<{ id: number } | null>;
  createHook(repo: RepoName, url: string): Promise<{ id: number }>;
  removeHook(repo: RepoName, id: number): Promise<void>;
  credentials(): Promise<{ username: string; password: string }>;
}

export class RepositoryError extends Error {
  constructor(
    readonly reason: 'repo_exists' | 'forbidden_by_org',
    message: string,
  ) {
    super(message);
    this.name = 'RepositoryRefused';
  }
}

export class UserTokenError extends Error {
  constructor() {
    super('The git host no longer accepts the token.');
    this.name = 'UserTokenRefused';
  }
}
