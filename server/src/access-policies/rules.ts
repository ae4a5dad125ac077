import type { PolicyFields } from './store.ts';

/** What a plan and the audit say of a policy. */
export function auditedFields(fields: PolicyFields): Record<string, unknown> {
  const { name, description, connector_id, resource_path, actions, row_filter, columns, masks, enabled } =
    fields;
  return {
    name,
    description,
    connector_id: connector_id ?? '',
    resource_path,
    actions,
    row_filter,
    columns,
    masks,
    enabled,
  };
}

/** A column that is masked must be one that can be seen. */
export function maskedButHidden(fields: PolicyFields): string[] {
  const { mode, names } = fields.columns;
  const hidden = (column: string) =>
    mode === 'allow' ? !names.includes(column) : mode === 'deny' && names.includes(column);
  return fields.masks.map((mask) => mask.column).filter(hidden);
}

export function maskedTwice(fields: PolicyFields): string[] {
  return twiceIn(fields.masks.map((mask) => mask.column));
}

export function namedTwice(fields: PolicyFields): string[] {
  return twiceIn(fields.columns.names);
}

function twiceIn(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
