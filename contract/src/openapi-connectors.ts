import type { ContractEntry } from './all.ts';
import type { ErrorCode } from './error-codes.ts';
import { type Json, jsonContent, parametersIn, requestIdHeader, securityOf } from './openapi-parts.ts';
import { anyRow, rowOperation } from './openapi-rows.ts';
import { connectorRowParams, connectorTableParams } from './rows-endpoints.shapes.ts';

export const connectorRowsTag = 'connectorRows';
const errors: readonly ErrorCode[] = [
  'data_scope_missing',
  'grant_missing',
  'policy_unresolvable',
  'connector_unavailable',
  'query_timeout',
];

/** The same operations as on rows of apps, one row at a time. Grants decide about them, and no row of the authorization table. */
export function connectorRowPaths(rowContract: readonly ContractEntry[]): Record<string, Json> {
  const paths: Record<string, Json> = {};
  for (const { endpoint, shape, ...entry } of rowContract) {
    if (summaries[endpoint.id] === undefined) continue;
    const path = endpoint.path.replace('/{app}/{table}', '/_connectors/{connector}/{schema}/{table}');
    const params = path.endsWith('{id}') ? connectorRowParams : connectorTableParams;
    const isChange = endpoint.kind === 'mutate';
    const described = {
      ...entry,
      shape: { ...shape, params },
      endpoint: {
        ...endpoint,
        errors: [
          ...(endpoint.errors ?? []),
          ...errors,
          ...(isChange ? (['connector_read_only'] as const) : []),
        ],
      },
    };
    const operation = rowOperation(described, { ...anyRow, params: parametersIn('path', params) });
    paths[path] = {
      ...paths[path],
      [endpoint.method.toLowerCase()]: {
        operationId: endpoint.id.replace('rows.', `${connectorRowsTag}.`),
        tags: [connectorRowsTag],
        summary: `${summaries[endpoint.id]}, by your grants`,
        security: securityOf(endpoint.authority),
        ...(endpoint.id === 'rows.insert' ? singleInsert(operation) : operation),
      },
    };
  }
  return paths;
}

/** Changes of several rows are for tables of apps. */
const summaries: Readonly<Record<string, string>> = {
  'rows.access': 'Describe what you may do with a table of a connector',
  'rows.list': 'List rows of a connector by page, or stream all with Accept: application/x-ndjson',
  'rows.count': 'Count rows of a connector',
  'rows.aggregate': 'Group rows of a connector and aggregate their columns',
  'rows.get': 'Get a row of a connector',
  'rows.insert': 'Insert a row through a connector',
  'rows.update': 'Update columns of a row of a connector',
  'rows.delete': 'Delete a row of a connector',
};

/** Batches and upserts are for tables of apps. */
function singleInsert(operation: Json): Json {
  const unknown = ['on_conflict', 'Prefer', 'Idempotency-Key'];
  const row = anyRow.insert;
  const responses = operation.responses as Record<string, Json>;
  const { 204: _, ...others } = responses;
  return {
    ...operation,
    parameters: (operation.parameters as Json[]).filter(({ name }) => !unknown.includes(String(name))),
    requestBody: { required: true, content: jsonContent(row) },
    responses: {
      ...others,
      201: { ...responses[201], headers: requestIdHeader, content: jsonContent(row) },
    },
  };
}
