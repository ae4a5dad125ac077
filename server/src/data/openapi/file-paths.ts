import { peopleContract } from '@svc/contract/all.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { objectPaths } from '@svc/contract/openapi-objects.ts';
import {
  errorCodesOf,
  type Json,
  jsonContent,
  problemResponses,
  requiredParameter,
  schemaOf,
  securityOf,
} from '@svc/contract/openapi-parts.ts';
import { type Access, isWritable } from '../rows/access.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';

const downloadPath = '/data/{tenant}/{app}/{table}/{id}/_files/{column}';
const sign = peopleContract.find(({ endpoint }) => endpoint.id === 'files.sign');

export function filePaths(
  {
    catalogue,
    access,
    readable,
  }: { catalogue: TableCatalogue; access: Access; readable: readonly CatalogueColumn[] },
  idParameter: Json,
): Record<string, Json> {
  const files = catalogue.columns.filter(({ type }) => isFileType(type));
  const read = files.filter((column) => access.actions.has('read') && readable.includes(column));
  const written = files.filter(
    ({ name }) =>
      (access.actions.has('insert') && isWritable(access, 'insert', name)) ||
      (access.actions.has('update') && isWritable(access, 'update', name)),
  );
  return {
    ...(written.length > 0 && { '/_files': { post: signOperation(catalogue.name, written) } }),
    ...(read.length > 0 && {
      '/{id}/_files/{column}': { get: downloadOperation(catalogue.name, read, idParameter) },
    }),
  };
}

const names = (columns: readonly CatalogueColumn[]) => columns.map(({ name }) => name);

function signOperation(table: string, columns: readonly CatalogueColumn[]): Json {
  if (!sign?.shape.body) return {};
  const { endpoint, shape } = sign;
  const body = schemaOf(sign.shape.body, 'input') as { properties: Json };
  const column = { type: 'string', enum: names(columns) };
  return {
    operationId: `${table}.signFile`,
    tags: [table],
    summary: endpoint.summary,
    security: securityOf(endpoint.authority),
    parameters: [],
    requestBody: {
      required: true,
      content: jsonContent({ ...body, properties: { ...body.properties, column } }),
    },
    responses: {
      201: {
        description: 'Where to upload, and the value for the row.',
        content: jsonContent(schemaOf(shape.answer, 'output')),
      },
      ...problemResponses(errorCodesOf(endpoint, shape)),
    },
  };
}

function downloadOperation(table: string, columns: readonly CatalogueColumn[], idParameter: Json): Json {
  const general = (objectPaths[downloadPath] as { get: Json }).get;
  const headers = (general.parameters as Json[]).filter((parameter) => parameter.in === 'header');
  return {
    ...general,
    operationId: `${table}.getFile`,
    tags: [table],
    parameters: [
      idParameter,
      requiredParameter('path', 'column', { type: 'string', enum: names(columns) }),
      ...headers,
    ],
  };
}
