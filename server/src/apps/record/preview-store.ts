import { sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';

export interface PreviewApp {
  id: string;
  slug: string;
  subdomain: string | null;
}

export async function findPreviewApps(db: Db, parentId: string): Promise<PreviewApp[]> {
  const { rows } = await sql<PreviewApp>`
    select id, slug, subdomain from svc.apps where preview_of = ${parentId} order by id`.execute(db);
  return rows;
}

export async function renameHost(tx: Tx, { id }: PreviewApp, subdomain: string): Promise<void> {
  await sql`update svc.apps set subdomain = ${subdomain} where id = ${id}`.execute(tx);
}
