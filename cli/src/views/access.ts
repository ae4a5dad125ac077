import type { View } from '../command.ts';

export const categoryView: View = {
  columns: ['id', 'slug', 'name', 'display_order', 'color', 'description'],
};

export const connectorView: View = { columns: ['id', 'slug', 'name', 'kind', 'description'] };

export const grantView: View = {
  columns: [
    'id',
    { title: 'subject', value: ({ subject_name, subject_id }) => subject_name ?? subject_id },
    { title: 'connector', value: ({ connector_name, connector_id }) => connector_name ?? connector_id },
    { title: 'preset', value: ({ preset_name, preset_id }) => preset_name ?? preset_id },
    'status',
    { title: 'scope', value: ({ scope_resource_paths }) => scope_resource_paths },
    'expires_at',
  ],
};

export const groupView: View = {
  columns: ['id', 'name', 'display_name', 'source', 'member_count', 'description'],
};

export const groupMemberView: View = { columns: ['user_id', 'email', 'name', 'status', 'since'] };

export const memberView: View = { columns: ['user_id', 'email', 'name', 'role', 'status', 'since'] };

export const patView: View = {
  columns: ['id', 'name', 'hint', 'actions', 'apps', 'status', 'expires_at', 'last_used_at'],
};

export const policyView: View = {
  columns: [
    'id',
    'name',
    'connector_id',
    'resource_path',
    'actions',
    'row_filter',
    'columns.mode',
    'enabled',
  ],
};

export const presetView: View = { columns: ['id', 'name', 'actions', 'built_in', 'description'] };

export const tenantView: View = { columns: ['id', 'slug', 'name', 'role', 'max_resource_tier'] };
