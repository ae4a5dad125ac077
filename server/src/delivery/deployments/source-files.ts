import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { sha256 } from '../../core/values.ts';

/** A source with more files is not compared. */
const filesMax = 10_000;
const hashChars = 32;
const leftOut = ['.git', 'node_modules'];

/** Stores the hashes of the source, so that a reviewer sees which files a deployment changes. */
export async function recordSource(
  db: Db,
  { deploymentId, dir, signal }: { deploymentId: string; dir: string; signal: AbortSignal },
): Promise<void> {
  const files = await hashFolder(dir, signal);
  if (files) await saveSourceFiles(db, deploymentId, files);
}

async function hashFolder(dir: string, signal: AbortSignal): Promise<Map<string, string> | null> {
  const files = new Map<string, string>();
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await readdir(join(dir, folder))) {
      signal.throwIfAborted();
      if (leftOut.includes(name)) continue;
      const path = join(folder, name);
      // A name that is not UTF-8 cannot be found by its text.
      const entry = await lstat(join(dir, path)).catch(() => null);
      if (entry?.isDirectory()) {
        folders.push(path);
        continue;
      }
      if (files.size >= filesMax) return null;
      if (entry?.isFile()) files.set(path, await hashFile(join(dir, path)));
      else if (entry?.isSymbolicLink())
        files.set(path, sha256(`link ${await readlink(join(dir, path))}`).slice(0, hashChars));
      else files.set(path, 'unreadable');
    }
  }
  return files;
}

async function hashFile(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const chunk of Bun.file(path).stream()) hash.update(chunk);
  return hash.digest('hex').slice(0, hashChars);
}

async function saveSourceFiles(db: Db, deploymentId: string, files: ReadonlyMap<string, string>) {
  await sql`
    insert into svc.deployment_sources (deployment_id, files) values (${deploymentId}, ${JSON.stringify(Object.fromEntries(files))})
    on conflict (deployment_id) do update set files = excluded.files`.execute(db);
}

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

interface SourceChange {
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
