import type { Column, View } from '../command.ts';

/** What fits a terminal of 80 columns; the rest is in `apps get` and in the other formats. */
const columns: readonly Column[] = [
  ...['slug', 'name', 'visibility'],
  { title: 'status', value: (app) => app.deployment_status },
  'summary',
];

/** Alone, with what one is to it in words. */
export const oneAppView: View = {
  columns,
  fields: [
    ...['id', 'tenant_id', 'slug', 'name', 'url', { title: 'you are', value: relationOf }],
    ...['summary', 'description', 'category_id', 'subdomain', 'auth_mode', 'data_scopes', 'deploy_method'],
    ...['resource_preset', 'visibility', 'cost_center', 'icon_url', 'icon_dark_url', 'owner_id', 'record'],
    ...['runtime', 'deployment_status', 'operating_status', 'review_status', 'deleted_at', 'purge_after'],
    ...['created_at', 'updated_at'],
  ],
};
export const appView: View = { columns };
/** With what one is to it. */
export const ownAppView: View = { columns: ['slug', 'name', 'relation', ...columns.slice(2)] };

function relationOf({ relation }: Record<string, unknown>): string {
  switch (relation) {
    case 'owner':
      return 'its owner';
    case 'co_owner':
      return 'one of its co-owners';
    case 'member':
      return 'one of its members';
    default:
      return 'neither owner nor member';
  }
}
