import type { deployMethods } from '@svc/contract/apps.ts';
import type { RepoName } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { builtInTables, type TemplateTable, writeBuiltIn } from './built-in-files.ts';
import { builtInTemplates } from './built-in-templates.ts';
import { listTemplateRows } from './store.ts';

/** What is put in place of `{{slug}}` and the like. */
export interface TemplateValues {
  slug: string;
  name: string;
  base_url: string;
  tenant: string;
  app_url: string;
  app_id: string;
}

export interface TemplateFacts {
  id: string;
  name: string;
  framework: string;
  deployMethod: (typeof deployMethods)[number];
  /** Made with the app. */
  tables: readonly TemplateTable[];
}

/** A template's files: those that come with the platform are written into a folder, others are fetched from their place. */
export type TemplateSource = TemplateFacts &
  (
    | { write(into: string, values: TemplateValues): Promise<void> }
    /** Without a ref: the repository's own branch. It is read only while who added it can read it with their account. */
    | { repo: RepoName; ref: string | null; addedBy: string | null }
  );

/** By id, or by alias; one that the tenant does not have is not there. */
export async function templateSource(
  { db }: { db: Db },
  { tenantId, template }: { tenantId: string; template: string },
): Promise<TemplateSource> {
  const isIt = ({ id, alias }: { id: string; alias: string | null }) =>
    id === template.toLowerCase() || alias === template;
  const builtIn = builtInTemplates.find(isIt);
  if (builtIn) {
    const { id, name, framework, deploy_method: deployMethod, alias } = builtIn;
    return {
      ...{ id, name, framework, deployMethod },
      tables: await builtInTables(alias),
      write: (into, values) => writeBuiltIn(alias, into, values),
    };
  }
  const row = (await listTemplateRows(db, tenantId)).find(isIt);
  const [owner, repo] = row?.repository?.split('/') ?? [];
  if (!row || !owner || !repo) throw fail('not_found', { detail: 'There is no such template.' });
  const { id, name, framework, deploy_method: deployMethod, repo_ref: ref, added_by: addedBy } = row;
  return { id, name, framework, deployMethod, tables: [], repo: { owner, name: repo }, ref, addedBy };
}
