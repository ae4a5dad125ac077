/**
 * A git host that speaks as GitHub does: GitHub, GitHub Enterprise, and the one that is built in. One client drives all
 * of them. What it says to who may not see something is `null`, the same as for what is not there.
 */
export interface GitHost {
  /** `https://github.com`: of links that people follow. Names the host in what is kept. */
  readonly webUrl: string;
  /** Whether the platform's own people have their accounts there without linking them. */
  readonly isBuiltIn: boolean;
  beginDeviceFlow(): Promise<DeviceGrant>;
  /** Asks once. */
  pollDeviceFlow(deviceCode: string): Promise<DevicePoll>;
  refresh(refreshToken: string): Promise<UserTokens | null>;
  /** Where a person installs the app of the host; it comes back with the state. */
  installUrl(state: string): string;
  /** Where the git client of this server finds a repository; people are shown its `cloneUrl`. */
  remoteUrl(repo: RepoName): string;
  /** What it asks rejects with `UserTokenRefused` where the token is not good any more. */
  asUser(token: string): GitHostUser;
  /** As the app of the host. */
  installationOfRepo(repo: RepoName): Promise<Installation | null>;
  installationOfOwner(owner: string): Promise<Installation | null>;
  installation(id: number): Promise<Installation | null>;
  /**
   * Limited to a repository where that is said, by its number: its name may be another's by now. What it is asked rejects
   * with `not_found` where that is gone.
   */
  asInstallation(id: number, repo?: { id: number }): GitHostInstallation;
  /** Whether the host itself signed it. */
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
  /** The interval to keep from now on. */
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

/** What can be read with any of the credentials. */
export interface RepositoryReader {
  repository(repo: RepoName): Promise<Repository | null>;
  /** Of a branch, a tag or a commit. */
  commit(repo: RepoName, ref: string): Promise<Commit | null>;
  /** All of it, below `path`; `isWhole` is false where the host cut it off. */
  tree(repo: RepoName, treeSha: string): Promise<{ entries: TreeEntry[]; isWhole: boolean }>;
  /** Null where there is none, or it is larger than `bytesMax`. */
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
  /** Throws `RepositoryRefused`. The first commit comes by a push. */
  createRepository(wanted: {
    owner: GitAccount;
    name: string;
    isPrivate: boolean;
    description: string;
    /** Some hosts let only a person make one in their own account. */
    userToken: string;
  }): Promise<Repository>;
  findHook(repo: RepoName, url: string): Promise<{ id: number } | null>;
  createHook(repo: RepoName, url: string): Promise<{ id: number }>;
  /** One that is not there is no error. */
  removeHook(repo: RepoName, id: number): Promise<void>;
  /** For the git client; good for an hour or so. */
  credentials(): Promise<{ username: string; password: string }>;
}

export class RepositoryRefused extends Error {
  constructor(
    readonly reason: 'repo_exists' | 'forbidden_by_org',
    message: string,
  ) {
    super(message);
    this.name = 'RepositoryRefused';
  }
}

/** The token of a person has expired or was taken back: it can be renewed once, or the account be linked anew. */
export class UserTokenRefused extends Error {
  constructor() {
    super('The git host does not take the token any more.');
    this.name = 'UserTokenRefused';
  }
}
