import type { PolicyFields } from './store.ts';

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

/** A masked column must be visible. */
export function hiddenMaskColumns(fields: PolicyFields): string[] {
  const { mode, names } = fields.columns;
  const hidden = (column: string) =>
    mode === 'allow' ? !names.includes(column) : mode === 'deny' && names.includes(column);
  return fields.masks.map((mask) => mask.column).filter(hidden);
}

export function duplicates(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
