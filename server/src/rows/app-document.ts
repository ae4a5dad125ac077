import { rowContract } from '@svc/contract/all.ts';
import {
  type Json,
  previewSchema,
  problemSchema,
  securityOf,
  securitySchemes,
} from '@svc/contract/openapi-parts.ts';
import { batchSchema, operatorForms, type RowTerms, rowOperation } from '@svc/contract/openapi-rows.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import type { RowAccess } from './access-rules.ts';
import { columnSchema, exampleCondition, exampleOf, sentColumnSchema } from './column-schema.ts';
import { opsFor } from './plan.ts';

export interface AppDocumentInput {
  baseUrl: string;
  tenant: { slug: string };
  app: { slug: string; name: string };
  tables: readonly DescribedTable[];
}

export interface DescribedTable {
  catalogue: TableCatalogue;
  description: string;
  access: RowAccess;
}

export interface AppDocument {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: Json[];
  paths: Record<string, Json>;
  components: Record<string, Json>;
}

/** The OpenAPI 3.1 document of an app's tables, as far as one caller reaches them. */
export function appDocument({ baseUrl, tenant, app, tables }: AppDocumentInput): AppDocument {
  const responses: Json = {};
  const paths: Record<string, Json> = {};
  for (const table of tables) {
    const terms = termsOf(table);
    for (const entry of rowContract) {
      const { id, path, method, kind, summary, authority } = entry.endpoint;
      if (kind === 'read' ? !table.access.read : !table.access.write) continue;
      const { name } = table.catalogue;
      const [, verb = ''] = id.split('.');
      const own = path.includes('{id}') ? [idParameter(table.catalogue)] : [];
      const operation = shared(verb, rowOperation(entry, { ...terms, params: own }), responses);
      const concrete = path
        .replace('{tenant}', tenant.slug)
        .replace('{app}', app.slug)
        .replace('{table}', name);
      paths[concrete] = {
        ...paths[concrete],
        [method.toLowerCase()]: {
          operationId: `${name}.${verb}`,
          tags: [name],
          summary,
          security: securityOf(authority.credential),
          ...operation,
        },
      };
    }
  }
  const content = {
    servers: [{ url: baseUrl }],
    tags: tables.map(({ catalogue, ...table }) => ({ name: catalogue.name, description: aboutOf(table) })),
    paths,
    components: {
      securitySchemes: securitySchemes(baseUrl),
      parameters: Object.assign({}, ...tables.map(columnParameters)),
      responses,
      schemas: Object.assign(
        { Problem: problemSchema, Preview: previewSchema, Batch: batchSchema },
        ...tables.map(tableSchemas),
      ),
    },
  };
  // Another one as soon as anything in it is: whoever generates from it knows when to do so again.
  const version = sha256(JSON.stringify([app.name, content])).slice(0, 12);
  return { openapi: '3.1.0', info: { title: app.name, version, description: howToFilter }, ...content };
}

const howToFilter = [
  'Rows of the tables that you may reach. Errors are RFC 9457 problems; compare their `code`.',
  'A column is filtered by as a parameter of its own name: `age=3`, or with an operator `age=gt.3`; `not.` before the',
  'operator negates. A value that does not begin with an operator and a dot is meant literally. The operators:',
  ...Object.values(operatorForms).map((form) => `- ${form}`),
].join('\n');

function aboutOf({ description, access }: Pick<DescribedTable, 'description' | 'access'>): string {
  const rights = [access.read ? 'read' : '', access.write ? 'write' : ''].filter((it) => it !== '');
  return `${description === '' ? '' : `${description}\n\n`}You may ${rights.join(' and ')} rows.`;
}

/** What is refused, and how, is the same for every table: it stands in the document once. */
function shared(verb: string, operation: Json, responses: Json): Json {
  const own = Object.entries(operation.responses as Record<string, Json>).map(([status, response]) => {
    if (Number(status) < 400) return [status, response];
    responses[`${verb}.${status}`] = response;
    return [status, { $ref: `#/components/responses/${verb}.${status}` }];
  });
  return { ...operation, responses: Object.fromEntries(own) };
}

function termsOf({ catalogue, access }: DescribedTable): Omit<RowTerms, 'params'> {
  const { name, columns, idColumn } = catalogue;
  const ref = (kind: string) => ({ $ref: `#/components/schemas/${name}${kind}` });
  const plain = columns.filter(({ role }) => role === 'plain');
  const [first = idColumn] = plain;
  const examples = (chosen: readonly CatalogueColumn[]) =>
    Object.fromEntries(chosen.map((column) => [column.name, exampleOf(column)]));
  const names = [...new Set([idColumn.name, first.name])];
  return {
    row: access.read ? ref('Row') : null,
    selected: access.read ? ref('Selected') : null,
    insert: ref('Insert'),
    update: ref('Update'),
    columns: columns.map((column) => ({ $ref: `#/components/parameters/${name}.${column.name}` })),
    examples: {
      row: examples(columns),
      insert: examples(columns.filter((column) => column.role === 'plain' || isRequired(column))),
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

function tableSchemas({ catalogue, access }: DescribedTable): Json {
  const { name, columns } = catalogue;
  const properties = (chosen: readonly CatalogueColumn[], schema: (column: CatalogueColumn) => Json) =>
    Object.fromEntries(chosen.map((column) => [column.name, schema(column)]));
  const inserted = columns.filter(({ role }) => {
    if (role === 'created_at' || role === 'updated_at') return false;
    // For those who see their own rows alone it can be nobody but themselves.
    return role !== 'owner' || access.ownRowsOf === null;
  });
  const row = {
    type: 'object',
    required: columns.map((column) => column.name),
    properties: properties(columns, columnSchema),
  };
  const selected = {
    type: 'object',
    description: 'Every column; with `select`, those that it names, under the names that it gives them.',
    properties: row.properties,
  };
  return {
    ...(access.read ? { [`${name}Row`]: row, [`${name}Selected`]: selected } : {}),
    ...(access.write
      ? {
          [`${name}Insert`]: {
            type: 'object',
            required: inserted.filter(isRequired).map((column) => column.name),
            properties: properties(inserted, sentColumnSchema),
            additionalProperties: false,
          },
          [`${name}Update`]: {
            type: 'object',
            properties: properties(
              columns.filter(({ role }) => role === 'plain'),
              columnSchema,
            ),
            additionalProperties: false,
          },
        }
      : {}),
  };
}

function isRequired({ role, nullable, default: rule }: CatalogueColumn): boolean {
  return (role === 'id' || role === 'plain') && !nullable && rule === null;
}

function idParameter({ idColumn }: TableCatalogue): Json {
  const { description: _, ...schema } = columnSchema(idColumn);
  return { name: 'id', in: 'path', required: true, schema, example: exampleOf(idColumn) };
}

function columnParameters({ catalogue, access }: DescribedTable): Json {
  if (!access.read) return {};
  return Object.fromEntries(
    catalogue.columns.map((column) => [
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
          `${opsFor(column.type).join(', ')}.`,
        example: [exampleCondition(column)],
      },
    ]),
  );
}
