import type { PolicyFields } from './store.ts';

/** `"3"` for version 3: what a later change sends as If-Match. */
export function policyEtag(policy: { version: number }): string {
  return `"${policy.version}"`;
}

/** If-Match as a list or `*`; absent means the caller does not mind. */
export function matches(ifMatch: string | undefined, version: number): boolean {
  if (ifMatch === undefined || ifMatch.trim() === '*') return true;
  return ifMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === policyEtag({ version }));
}

export function policyFacts(fields: PolicyFields): Record<string, unknown> {
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
  const columns = fields.masks.map((mask) => mask.column);
  return [...new Set(columns.filter((column, index) => columns.indexOf(column) !== index))];
}
