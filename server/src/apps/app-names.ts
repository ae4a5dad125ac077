import { sql } from 'kysely';
import type { Db } from '../core/db.ts';

export interface AppName {
  id: string;
  slug: string;
  name: string;
}

export async function loadAppNames(
  db: Db,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, AppName>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<AppName>`
    select id, slug, name from svc.apps where tenant_id = ${tenantId} and id = any(${ids}::uuid[])`.execute(
    db,
  );
  return new Map(rows.map((row) => [row.id, row]));
}
