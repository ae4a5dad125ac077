import { sql } from 'kysely';

/** Null for a deleted category whose apps have not been updated yet. */
export const currentCategory = sql<string | null>`(
  select c.id from svc.categories c where c.id = apps.category_id and c.deleted_at is null)`;
