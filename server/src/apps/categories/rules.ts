import type { Category } from '@svc/contract/categories.shapes.ts';
import { uploadedIcon } from '@svc/contract/icons.ts';
import type { z } from 'zod';
import type { CategoryRow } from './store.ts';

export type CategoryRecord = z.output<typeof Category>;
export type CategorySettings = Pick<
  CategoryRow,
  'slug' | 'name' | 'description' | 'color' | 'icon_url' | 'display_order'
>;

export function categorySettings(row: CategorySettings): CategorySettings {
  const { slug, name, description, color, icon_url, display_order } = row;
  return { slug, name, description, color, icon_url, display_order };
}

/** Apps updated per transaction; an update of an app touches many indexes. */
export const detachBatchMax = 500;

export function detachWarning(apps: number): string {
  return apps === 1 ? '1 app will have no category.' : `${apps} apps will have no category.`;
}

export function categoryRecord(row: CategoryRow): CategoryRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    ...categorySettings(row),
    icon_url: uploadedIcon(row.icon_url) ?? '',
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
