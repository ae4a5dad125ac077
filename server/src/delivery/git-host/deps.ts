import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { MutationBase } from '../../core/mutation.ts';
import { loadOrCreateKey } from '../../core/seal.ts';
import type { Credential } from '../../identity/credentials/find-credential.ts';
import type { GitProcesses } from './git-processes.ts';
import type { GitHostUrls } from './paths.ts';
import type { RepositoryFolders } from './repository-folders.ts';

export interface GitHostDeps extends Pick<MutationBase, 'outbox' | 'onCommitted' | 'events'> {
  db: Db;
  now: () => Date;
  baseUrl: string;
  urls: GitHostUrls;
  app: BuiltInCredentials;
  hookKey: Buffer;
  tokenKey: Buffer;
  folders: RepositoryFolders;
  git: GitProcesses;
  findCredential: (request: Request) => Promise<Credential | null>;
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Pick<Caller, 'userId'>) => Promise<TenantAccess | null>;
  connectedApps: ConnectedApps;
  wakeDeliveries: () => void;
}

/** What the git host needs to know about apps that deploy from its repositories; git-connections implements it. */
export interface ConnectedApps {
  listRepos(
    db: Db,
    user: { tenantId: string; userId: string; host: string },
  ): Promise<{ appId: string; repoId: number }[]>;
  describePush(
    db: Db,
    push: { tenantId: string; userId: string; host: string; repoId: number; branches: readonly string[] },
  ): Promise<string>;
}

export interface BuiltInCredentials {
  clientId: string;
  appId: number;
  privateKey: string;
  webhookSecret: string;
  slug: string;
}

export function loadBuiltInCredentials(db: Db): Promise<BuiltInCredentials> {
  return loadOrCreateKey(db, 'git_host.app', async () => ({
    clientId: `Iv1.${randomBytes(8).toString('hex')}`,
    appId: 1,
    privateKey: await generatePrivateKey(),
    webhookSecret: randomBytes(32).toString('base64url'),
    slug: 'svc',
  }));
}

async function generatePrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return privateKey;
}
