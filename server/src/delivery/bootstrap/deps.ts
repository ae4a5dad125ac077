import type { createApp } from '@svc/contract/apps.shapes.ts';
import type { setSite } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { OperatorDeps } from '../../core/mutation.ts';
import type { TableDefinition } from '../../data/tables/copy-tables.ts';
import type { GitClient } from '../../drivers/git/git-client.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';

export interface BootstrapDeps extends OperatorDeps {
  gitHost: GitHost;
  git: GitClient;
  now: () => Date;
  baseUrl: string;
  appsDomain: string;
  /** Parent of the folders in which template files are assembled. */
  dataDir: string;
  onCommitted?: (tag: string) => void;
}

/** Notifies the workers of all server processes. */
export const workTag = 'work:bootstraps';

/** The complete request, stored with the run: later changes of the template or source do not affect it. */
export interface RunInput {
  slug: string;
  app: z.output<typeof createApp.body>;
  /** Site configuration of a fork's source. */
  siteConfig: z.output<typeof setSite.body> | null;
  /** Tables that the code needs. */
  tables: readonly TableDefinition[];
  repo: RepoRequest;
  seed: Seed;
}

export interface RepoRequest {
  /** Null: the owner of the installation, or the tenant. */
  owner: string | null;
  name: string;
  isPrivate: boolean;
  installationId: number | null;
}

/** Source of the first commit. */
export type Seed =
  | { kind: 'template'; templateId: string }
  | { kind: 'copy'; tenantId: string; appId: string };
