import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

/** A repeated build replaces what an earlier attempt has stored. */
export async function saveSourceFiles(
  db: Db,
  deploymentId: string,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  await sql`
    insert into svc.deployment_sources (deployment_id, files) values (${deploymentId}, ${JSON.stringify(Object.fromEntries(files))})
    on conflict (deployment_id) do update set files = excluded.files`.execute(db);
}

/** A rollback has the source of the deployment that it goes back to. */
export async function copySourceFiles(db: Db, { id, of }: { id: string; of: string | null }): Promise<void> {
  await sql`
    insert into svc.deployment_sources (deployment_id, files)
    select ${id}, files from svc.deployment_sources where deployment_id = ${of}
    on conflict (deployment_id) do nothing`.execute(db);
}

/** A deployment that can no longer go live is not compared. */
export async function deleteSourceFiles(tx: Tx, rows: readonly { id: string }[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await sql`delete from svc.deployment_sources where deployment_id = any(${ids}::uuid[])`.execute(tx);
}

export interface SourceChange {
  path: string;
  change: 'added' | 'changed' | 'removed';
}

/** Null if the files of one of them are not stored. Without `before` every file is new. */
export async function listSourceChanges(
  db: Db,
  { tenantId, appId }: AppRef,
  { after, before }: { after: string; before: string | null },
): Promise<SourceChange[] | null> {
  const ids = before === null ? [after] : [after, before];
  const { rows: stored } = await sql`
    select from svc.deployment_sources s join svc.deployments d on d.id = s.deployment_id
    where d.tenant_id = ${tenantId} and d.app_id = ${appId} and d.id = any(${ids}::uuid[])`.execute(db);
  if (stored.length < new Set(ids).size) return null;
  const files = (id: string | null) => sql`
    select key as path, value as hash from svc.deployment_sources, jsonb_each_text(files)
    where deployment_id = ${id}::uuid`;
  const { rows } = await sql<SourceChange>`
    select path, case when o.hash is null then 'added' when n.hash is null then 'removed' else 'changed' end as change
    from (${files(after)}) n full join (${files(before)}) o using (path)
    where n.hash is distinct from o.hash order by path collate "C"`.execute(db);
  return rows;
}
