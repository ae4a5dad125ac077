import { newDataScopes } from '@svc/contract/data-scopes.ts';
import type { Column, View } from '../command.ts';
import { sanitize } from '../framework/text.ts';

/** Fits a terminal of 80 columns; `apps get` and other formats show more. */
const columns: readonly Column[] = [
  'slug',
  'name',
  'visibility',
  { title: 'status', value: (app) => app.deployment_status },
  'summary',
];

export const oneAppView: View = {
  columns,
  fields: [
    'id',
    'tenant_id',
    'slug',
    'name',
    'url',
    { title: 'you are', value: relationOf },
    'summary',
    'description',
    'category_id',
    'subdomain',
    'auth_mode',
    'data_scopes',
    'approved_data_scopes',
    'deploy_method',
    'resource_preset',
    'visibility',
    'cost_center',
    'icon_url',
    'icon_dark_url',
    'owner_id',
    'record',
    'runtime',
    'deployment_status',
    'operating_status',
    'review_status',
    'deleted_at',
    'purge_after',
    'created_at',
    'updated_at',
  ],
};
export const appView: View = { columns };
export const ownAppView: View = { columns: ['slug', 'name', 'relation', ...columns.slice(2)] };

function relationOf({ relation }: Record<string, unknown>): string {
  switch (relation) {
    case 'owner':
      return 'owner';
    case 'co_owner':
      return 'co-owner';
    case 'member':
      return 'member';
    default:
      return 'neither owner nor member';
  }
}

export const ownerView: View = { columns: ['user_id', 'email', 'name', 'role', 'since'] };

export const appMemberView: View = {
  columns: ['user_id', 'email', 'name', 'role', 'group.name', 'since'],
};

export const transferView: View = {
  columns: ['app_id', 'owner.email', 'previous_owner.email'],
  fields: [
    'app_id',
    'owner.user_id',
    'owner.email',
    'previous_owner.user_id',
    'previous_owner.email',
    'previous_owner.role',
    'owner.since',
  ],
};

export const templateView: View = {
  columns: ['id', 'alias', 'name', 'framework', 'deploy_method', 'built_in', 'description'],
};

export const resourcePresetView: View = {
  columns: ['name', 'cpu', 'memory_mb', 'disk_mb', 'allowed', 'default'],
};

export const newDataScopesColumn: Column = {
  title: 'new data scopes',
  value: (request) => newDataScopes(request as Parameters<typeof newDataScopes>[0]),
};

export const publicationView: View = {
  columns: [
    'id',
    { title: 'app', value: ({ app_slug }) => app_slug },
    'status',
    'visibility',
    { title: 'requested by', value: ({ requested_by_email }) => requested_by_email },
    { title: 'at', value: ({ requested_at }) => requested_at },
    'note',
  ],
  fields: [
    'id',
    { title: 'app', value: ({ app_slug, app_name }) => `${app_name} (${app_slug})` },
    'status',
    {
      title: 'visibility',
      value: ({ visibility, visibility_before }) => `${visibility_before} → ${visibility}`,
    },
    newDataScopesColumn,
    'pinned',
    'deployment_id',
    'release_id',
    'digest',
    'note',
    { title: 'requested by', value: ({ requested_by_email }) => requested_by_email },
    'requested_at',
    'expires_at',
    { title: 'decided by', value: ({ decided_by_email }) => decided_by_email },
    'decided_at',
    'reason',
  ],
};

/** After a change of variables. */
export const effectText = ({ app, environment }: { app: string; environment: string | undefined }) =>
  environment === 'preview'
    ? 'Effective with the next push to a branch.'
    : `Effective with the next deployment. To restart what runs now: svc apps restart ${sanitize(app)} --execute`;

export const envView: View = { columns: ['name', 'given_by', 'updated_by', 'updated_at'] };
