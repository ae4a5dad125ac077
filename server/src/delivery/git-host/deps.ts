import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Caller, MutationCtx, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareKey, type LiveKey } from '../../core/keys.ts';
import type { MutationBase } from '../../core/mutation.ts';
import type { FindCredential } from '../../identity/credentials/find-credential.ts';
import type { GitProcesses } from './git-processes.ts';
import { replaceHookSecrets } from './hooks.ts';
import type { GitHostUrls } from './paths.ts';
import type { RepositoryFolders } from './repositories.ts';

export interface GitHostDeps extends Pick<MutationBase, 'outbox' | 'onCommitted' | 'events'> {
  db: Db;
  now: () => Date;
  baseUrl: string;
  urls: GitHostUrls;
  app: LiveKey<BuiltInCredentials>;
  folders: RepositoryFolders;
  git: GitProcesses;
  findCredential: FindCredential;
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Pick<Caller, 'userId'>) => Promise<TenantAccess | null>;
  connectedApps: ConnectedApps;
  wakeDeliveries: () => void;
}

/** The git host asks this about apps that deploy from its repositories; git-connections implements it. */
export interface ConnectedApps {
  listRepos(
    db: Db,
    user: { tenantId: string; userId: string; host: string },
  ): Promise<{ appId: string; repoId: number }[]>;
  /** The user's app with this slug, unless apps deploy from another git host. */
  findOwnedApp(db: Db, app: { tenantId: string; userId: string; slug: string }): Promise<OwnedApp | null>;
  connectNewRepo(ctx: MutationCtx, connection: NewRepoConnection): Promise<void>;
  receivePush(push: ReceivedPush): Promise<PushReport>;
  /** Deploys connected branches whose newest commit is not recorded: the server of the push ended before that. */
  recordMissed(push: MissedPush): Promise<void>;
}

export interface OwnedApp {
  id: string;
  slug: string;
  isActive: boolean;
  connectedTo: { repo: string; cloneUrl: string } | null;
}

interface NewRepoConnection {
  tenantId: string;
  appId: string;
  userId: string;
  branch: string;
  repo: { id: number; owner: string; name: string; isPrivate: boolean };
  installationId: number;
}

export interface ReceivedPush {
  owner: { id: string; slug: string };
  repo: { id: number; name: string };
  userId: string;
  accountId: number;
  branches: readonly {
    name: string;
    commit: string;
    isDeleted: boolean;
    deliveryId: string;
    /** A delivery with this id follows. Of many branches only some are delivered. */
    isDelivered: boolean;
  }[];
  requestId: string;
}

export interface MissedPush extends Pick<ReceivedPush, 'owner' | 'repo'> {
  refs: Readonly<Record<string, string>>;
  pushedAt: Date;
}

export interface PushReport {
  text: string;
  follow: string;
  waitForEnd(signal: AbortSignal): AsyncIterable<PushMessage>;
}

/** After a failure, which must be the last message, `git push` exits with 1 although the refs are updated. */
export type PushMessage = string | { failure: string };

export interface BuiltInCredentials {
  clientId: string;
  appId: number;
  privateKey: string;
  webhookSecret: string;
  slug: string;
}

/** A rotation retains the names of the app and replaces its secrets. */
export const builtInAppKey = declareKey<BuiltInCredentials>({
  name: 'git_host.app',
  protects: 'Access of the platform to the built-in git host',
  create: async (previous) => ({
    clientId: previous?.clientId ?? `Iv1.${randomBytes(8).toString('hex')}`,
    appId: previous?.appId ?? 1,
    privateKey: await generatePrivateKey(),
    webhookSecret: randomBytes(32).toString('base64url'),
    slug: previous?.slug ?? 'svc',
  }),
  acceptedSeconds: 24 * 3600,
  replaceCopies: (db, { previous, current }) =>
    replaceHookSecrets(db, {
      previous: previous.map((each) => each.webhookSecret),
      current: current.webhookSecret,
    }),
});

async function generatePrivateKey(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return privateKey;
}
