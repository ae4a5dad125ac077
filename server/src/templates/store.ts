import type { deployMethods } from '@svc/contract/apps.ts';
import type { Template } from '@svc/contract/templates.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { Db, Tx } from '../plumbing/db.ts';

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
  /** Whose account at the git host must be able to read it. */
  added_by: string | null;
  created_at: Date;
}
type Tables = { templates: TemplateRow };

/** By name. They are few: nobody keeps hundreds. */
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

/** Until the transaction ends nobody else adds one, so that what is counted stays so. */
export async function lockTemplates(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc templates of ${tenantId}`}, 0))`.execute(tx);
}

export async function countTemplateRows(db: Db, tenantId: string): Promise<number> {
  const { n } = await db
    .withTables<Tables>()
    .selectFrom('templates')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return Number(n);
}

/** False where the alias is taken. */
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
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
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
