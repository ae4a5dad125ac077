import type { deployMethods } from '@svc/contract/apps.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import type { RepoName } from '../../drivers/git/git-host.ts';
import { builtInTables, builtInTemplates, type TemplateTable, writeBuiltIn } from './built-in-templates.ts';
import { listTemplateRows } from './store.ts';

/** Values of placeholders such as `{{slug}}`. */
export interface TemplateValues {
  slug: string;
  name: string;
  base_url: string;
  tenant: string;
  app_url: string;
  app_id: string;
}

export interface TemplateInfo {
  id: string;
  name: string;
  framework: string;
  deployMethod: (typeof deployMethods)[number];
  tables: readonly TemplateTable[];
}

export type TemplateSource = TemplateInfo &
  (
    | { write(into: string, values: TemplateValues): Promise<void> }
    /** `ref` null: the default branch. Readable only while the git account of `addedBy` can read it. */
    | { repo: RepoName; ref: string | null; addedBy: string | null }
  );

export async function findTemplateSource(
  { db }: { db: Db },
  { tenantId, template }: { tenantId: string; template: string },
): Promise<TemplateSource> {
  const matches = ({ id, alias }: { id: string; alias: string | null }) =>
    id === template.toLowerCase() || alias === template;
  const builtIn = builtInTemplates.find(matches);
  if (builtIn) {
    const { id, name, framework, deploy_method: deployMethod, alias } = builtIn;
    return {
      id,
      name,
      framework,
      deployMethod,
      tables: await builtInTables(alias),
      write: (into, values) => writeBuiltIn(alias, into, values),
    };
  }
  const row = (await listTemplateRows(db, tenantId)).find(matches);
  const [owner, repo] = row?.repository?.split('/') ?? [];
  if (!row || !owner || !repo) throw fail('not_found', { detail: 'The template does not exist.' });
  const { id, name, framework, deploy_method: deployMethod, repo_ref: ref, added_by: addedBy } = row;
  return { id, name, framework, deployMethod, tables: [], repo: { owner, name: repo }, ref, addedBy };
}
