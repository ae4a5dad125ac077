import { z } from 'zod';
import { App, appParams } from './apps.shapes.ts';
import { unchanged, uuid } from './shapes.ts';

export const moved = { params: appParams, answer: App.extend({ changed: unchanged }) };
export const archiveApp = moved;
export const reactivateApp = moved;
export const suspendApp = moved;
export const resumeApp = moved;
export const deleteApp = moved;
export const restoreApp = moved;

export const Removed = z.object({
  tables: z.int(),
  rows: z.int().meta({ description: 'Estimated for large tables.' }),
  table_grants: z
    .int()
    .meta({ description: "Grants to the app's tables, and of the app to tables of others." }),
  co_owners: z.int(),
  members: z.int(),
  tokens_revoked: z.int().meta({ description: 'Personal access tokens limited to this app.' }),
  tokens_narrowed: z
    .int()
    .meta({ description: 'Personal access tokens that also name other apps and keep those.' }),
  service_accounts: z.int().meta({ description: 'With their tokens and trust rules.' }),
  databases: z.int().meta({ description: "The app's own PostgreSQL database." }),
  objects: z.int(),
  bytes: z.int().meta({ description: 'Size of the objects.' }),
  icons: z.int(),
  releases: z.int().meta({ description: 'Releases of the static site.' }),
  release_files: z.int().meta({ description: 'Size of the releases, each file content counted once.' }),
  release_bytes: z.int(),
  variables: z.int().meta({ description: 'Variables that the owners have set.' }),
  deployments: z.int().meta({ description: 'Deployments with their artifacts and logs.' }),
  git_connections: z.int().meta({ description: 'The repository itself remains.' }),
  publication_requests: z.int(),
});
export const purgeApp = {
  params: appParams,
  answer: z.object({ id: uuid, slug: z.string(), removed: Removed }),
};
