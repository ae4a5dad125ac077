import { z } from 'zod';
import { App, appParams } from './apps.shapes.ts';
import { unchanged, uuid } from './shapes.ts';

/** A move of an app: the app as it is then. */
export const moved = { params: appParams, answer: App.extend({ changed: unchanged }) };
export const archiveApp = moved;
export const reactivateApp = moved;
export const suspendApp = moved;
export const resumeApp = moved;
export const deleteApp = moved;
export const restoreApp = moved;

/** How much of each there was. */
export const Removed = z.object({
  tables: z.int(),
  rows: z.int().meta({ description: 'Of large tables an estimate.' }),
  table_grants: z.int().meta({ description: 'To tables of the app, and of the app to tables of others.' }),
  co_owners: z.int(),
  members: z.int(),
  tokens_revoked: z
    .int()
    .meta({ description: 'Personal access tokens that were limited to this app alone.' }),
  tokens_narrowed: z
    .int()
    .meta({ description: 'Those that named other apps as well, which are left to them.' }),
  databases: z.int().meta({ description: "The app's own PostgreSQL database." }),
  objects: z.int(),
  bytes: z.int().meta({ description: 'Of the objects.' }),
  icons: z.int(),
  releases: z.int().meta({ description: 'Of its static site.' }),
  release_files: z.int().meta({ description: 'Of the releases, each content once.' }),
  release_bytes: z.int(),
  variables: z.int().meta({ description: 'That its owners have set.' }),
  deployments: z.int().meta({ description: 'With what they built, and their logs.' }),
  git_connections: z.int().meta({ description: 'The repository itself stays.' }),
  publication_requests: z.int(),
});
export const purgeApp = {
  params: appParams,
  answer: z.object({ id: uuid, slug: z.string(), removed: Removed }),
};
