import type { Column, View } from '../command.ts';

export const categoryView: View = {
  columns: ['id', 'slug', 'name', 'display_order', 'color', 'description'],
};

export const connectorView: View = { columns: ['id', 'slug', 'name', 'kind', 'description'] };

const connectorColumn: Column = {
  title: 'connector',
  value: ({ connector_name, connector_id }) => connector_name ?? connector_id,
};

export const grantRequestView: View = {
  columns: [
    'id',
    'requested_by_email',
    'connector_slug',
    'preset_name',
    { title: 'scope', value: ({ scope_resource_paths }) => scope_resource_paths },
    { title: 'duration', value: ({ duration_seconds }) => formatDuration(Number(duration_seconds)) },
    'status',
    'reason',
    'requested_at',
  ],
  fields: [
    'id',
    'status',
    'requested_by_email',
    'connector_slug',
    'preset_name',
    { title: 'scope', value: ({ scope_resource_paths }) => scope_resource_paths },
    { title: 'duration', value: ({ duration_seconds }) => formatDuration(Number(duration_seconds)) },
    'reason',
    'requested_at',
    'expires_at',
    'decided_by_email',
    'decided_at',
    'decision_reason',
    'grant_id',
  ],
};

export const accessLogView: View = {
  columns: [
    'at',
    'actor_name',
    'resource_path',
    'action',
    'rows',
    'columns',
    'masked_columns',
    {
      title: 'through_app',
      value: ({ through_app_slug, through_app_id }) => through_app_slug ?? through_app_id,
    },
    connectorColumn,
    'request_id',
  ],
};

const durationUnits = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

function formatDuration(seconds: number): string {
  const unit = durationUnits.find(([, each]) => seconds % each === 0);
  return unit ? `${seconds / unit[1]}${unit[0]}` : `${seconds}s`;
}

export const connectorTableView: View = {
  columns: [
    'path',
    'kind',
    'primary_key',
    {
      title: 'columns',
      value: ({ columns }) =>
        (columns as { name: string; type: string }[]).map(({ name, type }) => `${name}:${type}`),
    },
  ],
  empty: () => 'No tables. svc connectors schema refresh <connector> reads them.',
};

const grantColumns = {
  subject: { title: 'subject', value: ({ subject_name, subject_id }) => subject_name ?? subject_id },
  preset: { title: 'preset', value: ({ preset_name, preset_id }) => preset_name ?? preset_id },
  policies: { title: 'policies', value: ({ policy_names, policy_ids }) => policy_names ?? policy_ids },
  scope: { title: 'scope', value: ({ scope_resource_paths }) => scope_resource_paths },
  grantedBy: {
    title: 'granted by',
    value: ({ granted_by_name, granted_by }) => granted_by_name ?? granted_by,
  },
} satisfies Record<string, Column>;

export const grantView: View = {
  columns: [
    'id',
    grantColumns.subject,
    connectorColumn,
    grantColumns.preset,
    'status',
    grantColumns.scope,
    grantColumns.policies,
    grantColumns.grantedBy,
    'expires_at',
  ],
  fields: [
    'id',
    grantColumns.subject,
    'subject_kind',
    connectorColumn,
    grantColumns.preset,
    grantColumns.policies,
    grantColumns.scope,
    'status',
    'reason',
    'source',
    grantColumns.grantedBy,
    'granted_at',
    'expires_at',
    'revoked_by',
    'revoked_at',
    'updated_at',
  ],
};

export const myGrantView: View = {
  columns: [
    ...grantView.columns.filter((column) => column !== 'status' && column !== grantColumns.policies),
    { title: 'tables', value: ({ tables }) => tables ?? [] },
  ],
};

export const grantedTableView: View = {
  columns: [
    { title: 'connector', value: ({ connector_slug }) => connector_slug },
    'path',
    'actions',
    { title: 'columns', value: ({ columns }) => (columns as { name: string }[]).map(({ name }) => name) },
    { title: 'masked', value: ({ masked_columns }) => masked_columns },
    { title: 'grants', value: ({ grants }) => (grants as { preset_name: string }[]).map(grantText) },
    'expires_at',
    { title: 'problem', value: ({ problem }) => problem ?? '' },
  ],
  empty: () => 'No tables. svc grants request … requests access to a connector.',
};

const grantText = ({ preset_name, group_name }: { preset_name: string; group_name?: string }) =>
  group_name ? `${preset_name} (${group_name})` : preset_name;

export const groupView: View = {
  columns: ['id', 'name', 'display_name', 'source', 'member_count', 'description'],
};

export const groupMemberView: View = { columns: ['user_id', 'email', 'name', 'status', 'since'] };

export const memberView: View = {
  columns: [
    'user_id',
    'email',
    'name',
    'role',
    'status',
    {
      title: 'attributes',
      value: ({ attributes }) =>
        Object.entries(attributes as object).map(([name, value]) => `${name}=${value}`),
    },
    'since',
  ],
};

export const patView: View = {
  columns: ['id', 'name', 'hint', 'actions', 'apps', 'status', 'expires_at', 'last_used_at'],
};

export const serviceAccountView: View = {
  columns: [
    'id',
    'name',
    'actions',
    { title: 'trust', value: ({ trust }) => (trust as { issuer: string }[]).map(({ issuer }) => issuer) },
    'created_at',
  ],
  fields: ['id', 'name', 'actions', 'allows', 'trust', 'created_by', 'created_at'],
};

export const serviceTokenView: View = {
  columns: ['id', 'name', 'hint', 'kind', 'status', 'expires_at', 'last_used_at'],
};

export const policyView: View = {
  columns: [
    'id',
    'name',
    connectorColumn,
    'resource_path',
    'actions',
    'row_filter',
    'columns.mode',
    'enabled',
    'enforced',
  ],
  fields: [
    'id',
    'name',
    'description',
    connectorColumn,
    'resource_path',
    'actions',
    'row_filter',
    'columns',
    'masks',
    'enabled',
    'enforced',
    'version',
    { title: 'created by', value: ({ created_by_name, created_by }) => created_by_name ?? created_by },
    'created_at',
    { title: 'updated by', value: ({ updated_by_name, updated_by }) => updated_by_name ?? updated_by },
    'updated_at',
  ],
};

export const requestPolicyView: View = {
  columns: [
    'name',
    'applies',
    'enforced',
    'resource_path',
    'row_filter',
    'columns.mode',
    {
      title: 'masks',
      value: ({ masks }) =>
        (masks as { column: string; kind: string }[]).map(({ column, kind }) => `${column}:${kind}`),
    },
    'description',
    'id',
  ],
  empty: () => 'No policies. Only tenant admins create them: svc policies create',
};

export const policyWarningView: View = {
  columns: ['policy_name', 'code', 'connector_slug', 'path', 'text', 'policy_id'],
  empty: () => 'No warnings.',
};

export const presetView: View = { columns: ['id', 'name', 'actions', 'built_in', 'description'] };

export const tenantView: View = { columns: ['id', 'slug', 'name', 'role', 'max_resource_tier'] };

export const accessRequestView: View = {
  columns: ['id', 'email', 'status', 'note', 'requested_at'],
  fields: ['id', 'email', 'name', 'status', 'note', 'requested_at', 'decided_at', 'app_id'],
};
