import type { Credential } from '../identity/find-credential.ts';
import type { Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { MutationBase } from '../plumbing/mutation.ts';
import type { BuiltInCredentials } from './built-in-credentials.ts';
import type { GitProcesses } from './git-processes.ts';
import type { GitHostUrls } from './paths.ts';
import type { RepositoryFolders } from './repository-folders.ts';

export interface GitHostParts extends Pick<MutationBase, 'outbox' | 'onCommitted'> {
  db: Db;
  now: () => Date;
  baseUrl: string;
  urls: GitHostUrls;
  app: BuiltInCredentials;
  /** Seals the secrets of hooks. */
  hookKey: Buffer;
  /** Signs what the platform gives to itself. */
  tokenKey: Buffer;
  folders: RepositoryFolders;
  git: GitProcesses;
  /** Login tokens, sessions and personal access tokens of the platform. */
  findCredential: (request: Request) => Promise<Credential | null>;
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Pick<Caller, 'userId'>) => Promise<TenantAccess | null>;
  /** There is something to tell hooks. */
  wakeDeliveries: () => void;
}
