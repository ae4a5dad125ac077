import { rowContract } from '@svc/contract/all.ts';
import { describeColumnType } from '@svc/contract/columns.ts';
import {
  type Json,
  previewSchema,
  problemSchema,
  securityOf,
  securitySchemes,
} from '@svc/contract/openapi-parts.ts';
import { batchSchema, operatorForms, type RowTerms, rowOperation } from '@svc/contract/openapi-rows.ts';
import { sha256 } from '../../core/values.ts';
import { type Access, isWritable, type RowAction } from '../rows/access.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { columnExample, columnSchema, exampleCondition, inputColumnSchema } from './column-schema.ts';
import { filePaths } from './file-paths.ts';

export interface DescribedTable {
  catalogue: TableCatalogue;
  description: string;
  access: Access;
  readable: readonly CatalogueColumn[];
}

export type AppDocument = ReturnType<typeof appDocument>;

export function appDocument(
  baseUrl: string,
  tenant: { slug: string },
  app: { slug: string; name: string },
  tables: readonly DescribedTable[],
) {
  const responses: Json = {};
  const paths: Record<string, Json> = {};
  for (const table of tables) {
    const terms = rowTerms(table);
    for (const entry of tableContract) {
      const { id, path, method, kind, summary, authority } = entry.endpoint;
      const { actions } = table.access;
      if (!requiredActions(id, kind, actions).every((action) => actions.has(action))) continue;
      if (!isSwitchedOn(id, table.catalogue)) continue;
      const { name } = table.catalogue;
      const [, action = ''] = id.split('.');
      const own = path.includes('{id}') ? [idParameter(table.catalogue)] : [];
      const operation = rowOperation(entry, { ...terms, params: own });
      const concrete = path
        .replace('{tenant}', tenant.slug)
        .replace('{app}', app.slug)
        .replace('{table}', name);
      paths[concrete] = {
        ...paths[concrete],
        [method.toLowerCase()]: {
          operationId: `${name}.${action}`,
          tags: [name],
          summary,
          security: securityOf(authority),
          ...shareErrorResponses(action, operation, responses),
        },
      };
    }
  }
  for (const table of tables)
    for (const [below, operations] of Object.entries(filePaths(table, idParameter(table.catalogue))))
      paths[`/data/${tenant.slug}/${app.slug}/${table.catalogue.name}${below}`] = operations;
  const canChange = tables.some(({ access }) => changeActions.some((action) => access.actions.has(action)));
  if (canChange && batchEntry) {
    const { path, summary, authority } = batchEntry.endpoint;
    const operation = rowOperation(batchEntry, { ...noTable, params: [] });
    paths[path.replace('{tenant}', tenant.slug).replace('{app}', app.slug)] = {
      post: {
        operationId: 'rows.batch',
        tags: [batchTag.name],
        summary,
        security: securityOf(authority),
        ...shareErrorResponses('batch', operation, responses),
      },
    };
  }
  const content = {
    servers: [{ url: baseUrl }],
    tags: [
      ...tables.map((table) => ({ name: table.catalogue.name, description: tableSummary(table) })),
      ...(canChange ? [batchTag] : []),
    ],
    paths,
    components: {
      securitySchemes: securitySchemes(baseUrl),
      parameters: Object.assign({}, ...tables.map(columnParameters)) as Json,
      responses,
      schemas: Object.assign(
        { Problem: problemSchema, Preview: previewSchema, Batch: batchSchema },
        ...tables.map((table) => tableSchemas(table, tables)),
      ) as Json,
    },
  };
  // Clients generate code again when the content hash changes.
  const version = sha256(JSON.stringify([app.name, content])).slice(0, 12);
  const info = { title: app.name, version, description: documentDescription };
  return { openapi: '3.1.0', info, ...content };
}

const batchEntry = rowContract.find(({ endpoint }) => endpoint.id === 'rows.batch');
const tableContract = rowContract.filter((entry) => entry !== batchEntry);
const changeActions = ['insert', 'update', 'delete'] as const;
const batchTag = { name: '_batch', description: 'Changes over several tables.' };
const noTable = { row: null, selected: null, insert: {}, update: {}, columns: [] };

const documentDescription = [
  'Rows of the tables that you have access to. Errors are RFC 9457 problems; compare their `code`.',
  'To filter by a column, use its name as a parameter: `age=3`, or with an operator `age=gt.3`; `not.` before the',
  'operator negates it. A value that does not start with an operator and a dot is literal. Operators:',
  ...Object.values(operatorForms).map((form) => `- ${form}`),
  'Related rows: `select=title,author(name),comments(id,body)&comments.sort=-id&comments.limit=5`; `author.name=Ada` filters',
  'by the row that a column refers to.',
].join('\n');

function tableSummary({ description, access }: DescribedTable): string {
  const rights = (['read', 'insert', 'update', 'delete'] as const).filter((action) =>
    access.actions.has(action),
  );
  return `${description === '' ? '' : `${description}\n\n`}You may ${rights.join(' and ')} rows.`;
}

function isSwitchedOn(id: string, { changes, historyDays, softDeleteDays }: TableCatalogue): boolean {
  if (id === 'rows.changes') return changes === true;
  if (id === 'rows.history') return historyDays != null;
  if (id === 'rows.trash') return softDeleteDays != null;
  return !id.startsWith('rows.restore') || historyDays != null || softDeleteDays != null;
}

function requiredActions(id: string, kind: 'read' | 'mutate', actions: Access['actions']): RowAction[] {
  if (kind === 'read') return ['read'];
  if (id === 'rows.insert') return ['insert'];
  // Updates are undone without the right to insert rows.
  if (id === 'rows.restoreMany' && actions.has('update')) return ['update', 'read'];
  if (id.startsWith('rows.restore')) return ['insert', 'read'];
  const action = id.startsWith('rows.update') ? 'update' : 'delete';
  // Their filter sees what the caller reads.
  return id.endsWith('Many') ? [action, 'read'] : [action];
}

function shareErrorResponses(action: string, operation: Json, responses: Json): Json {
  const own = Object.entries(operation.responses as Record<string, Json>).map(([status, response]) => {
    if (Number(status) < 400) return [status, response];
    responses[`${action}.${status}`] = response;
    return [status, { $ref: `#/components/responses/${action}.${status}` }];
  });
  return { ...operation, responses: Object.fromEntries(own) };
}

function rowTerms({ catalogue, access, readable: columns }: DescribedTable): Omit<RowTerms, 'params'> {
  const { name, idColumn } = catalogue;
  const ref = (kind: string) => ({ $ref: `#/components/schemas/${name}${kind}` });
  const plain = columns.filter(({ role, type }) => role === 'plain' && type !== 'autonumber');
  const [first = idColumn] = plain;
  const examples = (chosen: readonly CatalogueColumn[]) =>
    Object.fromEntries(chosen.map((column) => [column.name, columnExample(column)]));
  const names = [...new Set([idColumn.name, first.name])];
  return {
    row: access.actions.has('read') ? ref('Row') : null,
    selected: access.actions.has('read') ? ref('Selected') : null,
    insert: ref('Insert'),
    update: ref('Update'),
    columns: columns.map((column) => ({ $ref: `#/components/parameters/${name}.${column.name}` })),
    examples: {
      row: examples(columns),
      insert: examples(columns.filter((column) => plain.includes(column) || isRequired(column))),
      update: examples(plain.slice(0, 1)),
      query: {
        select: names.join(','),
        sort: `-${first.name}`,
        filter: [`${first.name}=${exampleCondition(first)}`],
        or: [`(${names.map((column) => `${column}.is.not_null`).join(',')})`],
      },
    },
  };
}

const readableTable = (tables: readonly DescribedTable[], id: string) =>
  tables.find((table) => table.catalogue.id === id && table.access.actions.has('read'));

function relatedSchemas({ catalogue, readable }: DescribedTable, tables: readonly DescribedTable[]): Json {
  const schemaOf = (table: DescribedTable) => ({
    $ref: `#/components/schemas/${table.catalogue.name}Selected`,
  });
  const related: Json = {};
  for (const { table, tableId, column } of catalogue.referencedBy ?? []) {
    const other = readableTable(tables, tableId);
    if (other?.readable.some(({ name }) => name === column))
      related[table] = { type: 'array', items: schemaOf(other) };
  }
  for (const column of readable) {
    const other = column.ref && readableTable(tables, column.ref.tableId);
    if (other) related[column.name] = { anyOf: [schemaOf(other), columnSchema(column)] };
  }
  return related;
}

function withoutTarget({ ref: _, ...column }: CatalogueColumn): CatalogueColumn {
  return column;
}

function tableSchemas(described: DescribedTable, tables: readonly DescribedTable[]): Json {
  const { catalogue, access, readable: columns } = described;
  const { name } = catalogue;
  // The name of a table that the caller does not see is not theirs to know.
  const hideTarget = (column: CatalogueColumn): CatalogueColumn =>
    column.ref && !readableTable(tables, column.ref.tableId) ? withoutTarget(column) : column;
  const properties = (chosen: readonly CatalogueColumn[], schema: (column: CatalogueColumn) => Json) =>
    Object.fromEntries(chosen.map((column) => [column.name, schema(hideTarget(column))]));
  const inserted = catalogue.columns.filter(({ role, name, type }) => {
    if (!isWritable(access, 'insert', name) || type === 'autonumber') return false;
    if (role === 'created_at' || role === 'updated_at') return false;
    // Callers limited to their own rows cannot set another owner.
    return role !== 'owner' || !access.insertsOwn;
  });
  const changeable = catalogue.columns.filter(
    ({ role, name, type }) => role === 'plain' && type !== 'autonumber' && isWritable(access, 'update', name),
  );
  const schemas: Json = {};
  if (access.actions.has('read')) {
    const all = properties(columns, columnSchema);
    schemas[`${name}Row`] = {
      type: 'object',
      required: columns.map((column) => column.name),
      properties: all,
    };
    schemas[`${name}Selected`] = {
      type: 'object',
      description: 'All columns, or those in `select` under their aliases, with related rows.',
      properties: { ...all, ...relatedSchemas(described, tables) },
    };
  }
  if (access.actions.has('insert')) {
    schemas[`${name}Insert`] = {
      type: 'object',
      required: inserted.filter(isRequired).map((column) => column.name),
      properties: properties(inserted, inputColumnSchema),
      additionalProperties: false,
    };
  }
  if (access.actions.has('update')) {
    schemas[`${name}Update`] = {
      type: 'object',
      properties: properties(changeable, columnSchema),
      additionalProperties: false,
    };
  }
  return schemas;
}

function isRequired({ role, type, nullable, default: rule }: CatalogueColumn): boolean {
  return (role === 'id' || role === 'plain') && type !== 'autonumber' && !nullable && rule === null;
}

function idParameter({ idColumn }: TableCatalogue): Json {
  const { description: _, ...schema } = columnSchema(idColumn);
  return { name: 'id', in: 'path', required: true, schema, example: columnExample(idColumn) };
}

function columnParameters({ catalogue, access, readable }: DescribedTable): Json {
  if (!access.actions.has('read')) return {};
  return Object.fromEntries(
    readable.map((column) => [
      `${catalogue.name}.${column.name}`,
      {
        name: column.name,
        in: 'query',
        required: false,
        style: 'form',
        explode: true,
        schema: { type: 'array', items: { type: 'string' } },
        description:
          `Conditions on a column of type ${column.type}, all of which must hold; operators: ` +
          `${describeColumnType(column.type).operators.join(', ')}.`,
        example: [exampleCondition(column)],
      },
    ]),
  );
}
