import { slugPattern } from './limits.ts';

export const dataActions = ['read', 'export', 'insert', 'update', 'delete'] as const;
export type DataAction = (typeof dataActions)[number];

/** What an app may do with the rows of a connector, for visitors who have grants. */
export interface DataScope {
  connector: string;
  /** `schema` or `schema/table`; empty for the whole connector. */
  path: string;
  action: DataAction;
}

export const dataScopeForm =
  'connector/schema/table:action, with * for all tables of a schema or connector, and the action ' +
  dataActions.join(', ');

const pattern =
  /^([^/]+)\/(?:\*|((?!\.{1,2}\/)[^\s/*\p{Cc}]{1,128})\/(\*|(?!\.{1,2}:)[^\s/*\p{Cc}]{1,128})):([a-z]+)$/u;

/** `warehouse/sales/orders:read`, `warehouse/sales/*:read`, `warehouse/*:read`. Null: a name for something else. */
export function parseDataScope(text: string): DataScope | null {
  const [, connector = '', schema, table, action] = pattern.exec(text) ?? [];
  const known = dataActions.find((each) => each === action);
  if (!known || !slugPattern.test(connector)) return null;
  if (schema === undefined) return { connector, path: '', action: known };
  return { connector, path: table === '*' ? schema : `${schema}/${table}`, action: known };
}

/** Which actions the scopes allow on one table of a connector. */
export function scopedActions(
  scopes: readonly string[],
  { connector, path }: { connector: string; path: string },
): Set<DataAction> {
  const parsed = scopes.flatMap((text) => parseDataScope(text) ?? []);
  const covering = parsed.filter(
    (scope) =>
      scope.connector === connector &&
      (scope.path === '' || scope.path === path || path.startsWith(`${scope.path}/`)),
  );
  return new Set(covering.map(({ action }) => action));
}

/** What the approval of a request would approve. */
export function newDataScopes({
  data_scopes,
  data_scopes_before,
}: {
  data_scopes: readonly string[];
  data_scopes_before: readonly string[];
}): string[] {
  return data_scopes.filter((scope) => !data_scopes_before.includes(scope));
}
