import type { createApp } from '@svc/contract/apps.shapes.ts';
import type { setSite } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { TableDefinition } from '../tables/table-definitions.ts';

/** What a run was asked for, in full: what changes meanwhile does not change the run. */
export interface RunInput {
  slug: string;
  app: z.output<typeof createApp.body>;
  /** Of a fork whose source has one. */
  siteConfig: z.output<typeof setSite.body> | null;
  /** That its code counts on. */
  tables: readonly TableDefinition[];
  repo: WantedRepo;
  seed: Seed;
}

export interface WantedRepo {
  /** Null: that of the installation, or of the tenant. */
  owner: string | null;
  name: string;
  isPrivate: boolean;
  installationId: number | null;
}

/** Where the first commit comes from. */
export type Seed =
  | { kind: 'template'; templateId: string }
  | { kind: 'copy'; tenantId: string; appId: string };
