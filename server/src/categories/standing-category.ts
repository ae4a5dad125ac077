import { sql } from 'kysely';

/**
 * For statements over `apps`: the category that the app stands in. One that is deleted counts no more, though its apps
 * may still have to be taken out of it.
 */
export const standingCategory = sql<string | null>`(
  select c.id from svc.categories c where c.id = apps.category_id and c.deleted_at is null)`;
