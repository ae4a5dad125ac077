import type { deployMethods } from '@svc/contract/apps.ts';
import type { Template } from '@svc/contract/templates.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../../core/db.ts';

export interface TemplateRow {
  id: string;
  tenant_id: string;
  alias: string | null;
  name: string;
  description: string;
  framework: string;
  deploy_method: (typeof deployMethods)[number];
  repository: string | null;
  repo_ref: string | null;
  /** The user whose git account must be able to read the repository. */
  added_by: string | null;
  created_at: Date;
}
type Tables = { templates: TemplateRow };

export function listTemplateRows(db: Db, tenantId: string): Promise<TemplateRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('templates')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy((e) => e.fn('lower', ['name']))
    .orderBy('id')
    .execute();
}

/** Serializes additions, so that the limit holds. */
export async function lockTemplates(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc templates of ${tenantId}`}, 0))`.execute(tx);
}

export async function countTemplateRows(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.templates where tenant_id = ${tenantId}`.execute(db);
  return rows[0]?.n ?? 0;
}

/** False if the alias is taken. */
export async function insertTemplateRow(db: Db, row: TemplateRow): Promise<boolean> {
  const made = await db
    .withTables<Tables>()
    .insertInto('templates')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'alias']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return made !== undefined;
}

export function deleteTemplateRow(db: Db, tenantId: string, id: string): Promise<TemplateRow | undefined> {
  return db
    .withTables<Tables>()
    .deleteFrom('templates')
    .where((row) => row.and({ tenant_id: tenantId, id }))
    .returningAll()
    .executeTakeFirst();
}

export function templateRecord(row: TemplateRow): z.output<typeof Template> {
  return {
    id: row.id,
    alias: row.alias,
    name: row.name,
    description: row.description,
    framework: row.framework,
    deploy_method: row.deploy_method,
    built_in: false,
    repo: row.repository,
    ref: row.repo_ref,
  };
}
