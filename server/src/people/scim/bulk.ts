import { isObject } from '@svc/contract/json.ts';
import { errorBody, invalidValueError, ScimError } from './errors.ts';
import { attributeOf } from './patch.ts';

/** RFC 7644 §3.7. */
export const bulkLimits = { maxOperations: 1_000, maxPayloadSize: 1024 * 1024 };

const responseSchema = 'urn:ietf:params:scim:api:messages:2.0:BulkResponse';
const methods = ['POST', 'PUT', 'PATCH', 'DELETE'];
const reference = /^bulkId:(.+)$/;

interface BulkOperation {
  method: string;
  bulkId: string | null;
  path: string;
  version: string | null;
  data: unknown;
}

type Perform = (operation: Omit<BulkOperation, 'bulkId'>) => Promise<Response>;

interface Result {
  method: string;
  bulkId?: string | undefined;
  location?: string | undefined;
  version?: string | undefined;
  status: string;
  response?: object;
}

/** Operations that name others by `bulkId:…` run after those, wherever they stand; each has a transaction of its own. */
export async function runBulk(body: unknown, baseUrl: string, perform: Perform): Promise<object> {
  const { operations, failOnErrors } = parseBulk(body);
  const ids = new Map<string, string | null>();
  const named = new Set(operations.flatMap(({ bulkId }) => bulkId ?? []));
  const results = new Map<BulkOperation, Result>();
  const left = new Set(operations);
  let errors = 0;
  while (left.size > 0 && (failOnErrors === null || errors < failOnErrors)) {
    const isReady = (operation: BulkOperation) =>
      referencesOf(operation).every((bulkId) => ids.has(bulkId) || !named.has(bulkId));
    // If none is ready, they name each other in a circle.
    const next = [...left].find(isReady) ?? [...left][0];
    if (!next) break;
    left.delete(next);
    const result = await runOne(next, ids, perform);
    // Every result has it, except that of a POST that failed (RFC 7644 §3.7).
    if (next.method !== 'POST') result.location ??= baseUrl + next.path;
    if (Number(result.status) >= 400) errors++;
    results.set(next, result);
  }
  return {
    schemas: [responseSchema],
    Operations: operations.flatMap((operation) => results.get(operation) ?? []),
  };
}

async function runOne(
  operation: BulkOperation,
  ids: Map<string, string | null>,
  perform: Perform,
): Promise<Result> {
  const { method, bulkId, version } = operation;
  const start = { method, bulkId: bulkId ?? undefined };
  try {
    checkOperation(operation, ids);
    const path = operation.path.replace(/bulkId:[^/]+/, (text) => String(resolve(text, ids)));
    const response = await perform({ method, path, version, data: resolve(operation.data, ids) });
    const text = await response.text();
    const resource = text === '' ? null : (JSON.parse(text) as Resource);
    if (response.status >= 400) throw new FailedOperation(response.status, resource ?? {});
    if (bulkId !== null && resource?.id) ids.set(bulkId, resource.id);
    return {
      ...start,
      location: resource?.meta?.location ?? response.headers.get('location') ?? undefined,
      version: resource?.meta?.version ?? response.headers.get('etag') ?? undefined,
      status: String(response.status),
    };
  } catch (error) {
    if (bulkId !== null && !ids.has(bulkId)) ids.set(bulkId, null);
    if (error instanceof FailedOperation)
      return { ...start, status: String(error.status), response: error.response };
    if (!(error instanceof ScimError)) throw error;
    return { ...start, status: String(error.status), response: errorBody(error) };
  }
}

interface Resource {
  id?: string;
  meta?: { location?: string; version?: string };
}

class FailedOperation extends Error {
  constructor(
    readonly status: number,
    readonly response: object,
  ) {
    super('The operation failed.');
  }
}

function checkOperation({ method, bulkId, path }: BulkOperation, ids: ReadonlyMap<string, unknown>): void {
  if (!methods.includes(method)) throw invalidValueError(`method must be one of ${methods.join(', ')}.`);
  if (!(method === 'POST' ? /^\/(?:Users|Groups)$/ : /^\/(?:Users|Groups)\/[^/?#]+$/).test(path))
    throw new ScimError(400, 'invalidPath', `${method} ${path} cannot be part of a bulk request.`);
  if (method === 'POST' && bulkId === null) throw invalidValueError('A POST needs a bulkId.');
  if (bulkId !== null && ids.has(bulkId)) throw invalidValueError('bulkId must be unique in the request.');
}

function parseBulk(body: unknown): { operations: BulkOperation[]; failOnErrors: number | null } {
  const list = isObject(body) ? attributeOf(body, 'Operations') : null;
  if (!isObject(body) || !Array.isArray(list)) throw syntaxError('Operations must be a list.');
  if (list.length > bulkLimits.maxOperations)
    throw new ScimError(413, null, `More than ${bulkLimits.maxOperations} operations (maxOperations).`);
  const fail = attributeOf(body, 'failOnErrors') ?? null;
  if (fail !== null && !(Number.isInteger(fail) && Number(fail) > 0))
    throw invalidValueError('failOnErrors must be a whole number above 0.');
  return { operations: list.map(parseOperation), failOnErrors: fail === null ? null : Number(fail) };
}

function parseOperation(value: unknown): BulkOperation {
  if (!isObject(value)) throw syntaxError('An operation must be an object.');
  const text = (name: string) => {
    const found = attributeOf(value, name) ?? null;
    if (found !== null && typeof found !== 'string') throw syntaxError(`${name} must be a text.`);
    return found;
  };
  return {
    method: text('method')?.toUpperCase() ?? '',
    bulkId: text('bulkId'),
    path: text('path') ?? '',
    version: text('version'),
    data: attributeOf(value, 'data'),
  };
}

const syntaxError = (detail: string) => new ScimError(400, 'invalidSyntax', detail);

function referencesOf({ path, data }: BulkOperation): string[] {
  const found: string[] = [];
  const walk = (value: unknown): void => {
    const bulkId = typeof value === 'string' ? reference.exec(value)?.[1] : undefined;
    if (bulkId !== undefined) found.push(bulkId);
    else if (Array.isArray(value)) for (const each of value) walk(each);
    else if (isObject(value)) for (const each of Object.values(value)) walk(each);
  };
  walk(data);
  for (const part of path.split('/')) walk(part);
  return found;
}

function resolve(value: unknown, ids: ReadonlyMap<string, string | null>): unknown {
  if (Array.isArray(value)) return value.map((each) => resolve(each, ids));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, ids)]));
  const bulkId = typeof value === 'string' ? reference.exec(value)?.[1] : undefined;
  if (bulkId === undefined) return value;
  const id = ids.get(bulkId);
  if (!id) throw new ScimError(409, 'invalidValue', `No resource was created for ${String(value)}.`);
  return id;
}
