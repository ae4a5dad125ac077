import type { Category } from '@svc/contract/categories.shapes.ts';
import type { z } from 'zod';
import type { CategoryRow } from './store.ts';

export type CategoryRecord = z.output<typeof Category>;
export type CategorySettings = Pick<
  CategoryRow,
  'slug' | 'name' | 'description' | 'color' | 'icon_url' | 'display_order'
>;

/** What admins say of a category, for the plan and the audit alike. */
export function settingsOf(row: CategorySettings): CategorySettings {
  const { slug, name, description, color, icon_url, display_order } = row;
  return { slug, name, description, color, icon_url, display_order };
}

/** What is left out stays as it is. */
export function withChanges(
  row: CategorySettings,
  set: { [K in keyof CategorySettings]?: CategorySettings[K] | undefined },
): CategorySettings {
  return {
    slug: set.slug ?? row.slug,
    name: set.name ?? row.name,
    description: set.description ?? row.description,
    color: set.color ?? row.color,
    icon_url: set.icon_url ?? row.icon_url,
    display_order: set.display_order ?? row.display_order,
  };
}

/** So many apps are taken out of a category in one transaction; an update of an app touches many indexes. */
export const appsAtOnceMax = 500;

export function lossOf(apps: number): string {
  return apps === 1
    ? '1 app stands in it, and will stand in none.'
    : `${apps} apps stand in it, and will stand in none.`;
}

export function categoryRecord(row: CategoryRow): CategoryRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    ...settingsOf(row),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
