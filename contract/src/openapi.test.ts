import { expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { contract, rowContract } from './all.ts';
import { openApiDocument } from './openapi.ts';

const everything = [...contract, ...rowContract];
const document = openApiDocument({ baseUrl: 'http://localhost:4400', version: '1.0.0' });
const resolvedPaths = resolve(document.paths);

/** Resolves references to parameters, headers and responses. */
function resolve(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(resolve);
  if (typeof value !== 'object' || value === null) return value;
  const { $ref } = value as { $ref?: string };
  if ($ref?.startsWith('#/components/schemas/')) return value;
  if ($ref !== undefined) {
    const [kind = '', name = ''] = $ref.replace('#/components/', '').split('/');
    return resolve((document.components as Record<string, Record<string, unknown>>)[kind]?.[name]);
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolve(part)]));
}

test('a validator accepts the OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
  expect(result.errors).toBeUndefined();
  expect(result.valid).toBe(true);
});

test('the document has every endpoint with its id', () => {
  const paths = resolvedPaths as Record<string, Record<string, { operationId: string }>>;
  for (const { endpoint } of everything) {
    expect(paths[endpoint.path]?.[endpoint.method.toLowerCase()]?.operationId).toBe(endpoint.id);
  }
  expect(new Set(everything.map(({ endpoint }) => endpoint.id)).size).toBe(everything.length);
});

test('the path parameters of an endpoint match its schema', () => {
  for (const { endpoint, shape } of everything) {
    const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    const operation = (
      resolvedPaths as Record<string, Record<string, { parameters: { name: string; in: string }[] }>>
    )[endpoint.path]?.[endpoint.method.toLowerCase()];
    const named = operation?.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect({ id: endpoint.id, named: named?.sort() }).toEqual({ id: endpoint.id, named: inPath.sort() });
    expect(shape.answer).toBeDefined();
  }
});

test('row operations describe their headers, bodies and responses', () => {
  const described = rowContract.map(({ endpoint }) => {
    const operation = (
      resolvedPaths as Record<
        string,
        Record<
          string,
          {
            parameters: { name: string; in: string }[];
            requestBody?: { content: object };
            responses: Record<string, { content?: object }>;
            security: object[];
          }
        >
      >
    )[endpoint.path]?.[endpoint.method.toLowerCase()];
    const successes = Object.entries(operation?.responses ?? {}).filter(([status]) => Number(status) < 400);
    return {
      id: endpoint.id,
      headers: operation?.parameters.filter((it) => it.in === 'header').map(({ name }) => name),
      body: Object.keys(operation?.requestBody?.content ?? {}),
      answers: successes.map(([status, { content }]) => [status, ...Object.keys(content ?? {})]),
      pat: operation?.security.some((scheme) => 'pat' in scheme),
    };
  });
  const [json, ndjson, csv] = ['application/json', 'application/x-ndjson', 'text/csv'];
  expect(described).toEqual([
    { id: 'rows.aggregate', headers: [], body: [], answers: [['200', json, csv]], pat: true },
    {
      id: 'rows.batch',
      headers: ['If-Plan', 'Prefer', 'Idempotency-Key'],
      body: [json],
      answers: [['200', json]],
      pat: true,
    },
    { id: 'rows.count', headers: [], body: [], answers: [['200', json]], pat: true },
    {
      id: 'rows.delete',
      headers: ['If-Plan', 'If-Match'],
      body: [],
      answers: [['200', json], ['204']],
      pat: true,
    },
    {
      id: 'rows.deleteMany',
      headers: ['If-Plan', 'Prefer', 'Idempotency-Key'],
      body: [],
      answers: [['200', json], ['204']],
      pat: true,
    },
    {
      id: 'rows.changes',
      headers: ['Last-Event-ID'],
      body: [],
      answers: [['200', 'text/event-stream']],
      pat: true,
    },
    { id: 'rows.access', headers: [], body: [], answers: [['200', json]], pat: true },
    { id: 'rows.get', headers: ['If-None-Match'], body: [], answers: [['200', json], ['304']], pat: true },
    {
      id: 'rows.insert',
      headers: ['If-Plan', 'Prefer', 'Idempotency-Key'],
      body: [json, ndjson, 'application/jsonl'],
      answers: [['200', json], ['201', json], ['204']],
      pat: true,
    },
    { id: 'rows.history', headers: [], body: [], answers: [['200', json]], pat: true },
    { id: 'rows.list', headers: [], body: [], answers: [['200', json, ndjson, csv]], pat: true },
    { id: 'rows.trash', headers: [], body: [], answers: [['200', json]], pat: true },
    {
      id: 'rows.restore',
      headers: ['If-Plan', 'Idempotency-Key'],
      body: [],
      answers: [['200', json]],
      pat: true,
    },
    {
      id: 'rows.restoreMany',
      headers: ['If-Plan', 'Idempotency-Key'],
      body: [json],
      answers: [['200', json]],
      pat: true,
    },
    {
      id: 'rows.update',
      headers: ['If-Plan', 'If-Match', 'Prefer'],
      body: [json],
      answers: [['200', json], ['204']],
      pat: true,
    },
    {
      id: 'rows.updateMany',
      headers: ['If-Plan', 'Prefer', 'Idempotency-Key'],
      body: [json],
      answers: [['200', json], ['204']],
      pat: true,
    },
  ]);
});

type Described = Record<
  string,
  Record<
    string,
    {
      parameters?: { name: string; in: string }[];
      responses: Record<string, { description: string; content?: object }>;
      'x-authorization'?: object;
    }
  >
>;
const paths = resolvedPaths as Described;

test('every POST accepts an Idempotency-Key and lists its error codes', () => {
  const posts = everything.filter(({ endpoint }) => endpoint.method === 'POST');
  expect(posts.filter(({ endpoint }) => endpoint.kind === 'read').map(({ endpoint }) => endpoint.id)).toEqual(
    ['connectors.test', 'access.check', 'access.preview', 'tables.check', 'icons.preCreate', 'icons.sign'],
  );
  for (const { endpoint } of posts) {
    const operation = paths[endpoint.path]?.post;
    expect([
      endpoint.id,
      operation?.parameters?.some(({ name }) => name === 'Idempotency-Key'),
      operation?.responses[409]?.description.includes('idempotency_in_progress'),
      operation?.responses[422]?.description.includes('idempotency_mismatch'),
    ]).toEqual([endpoint.id, true, true, true]);
  }
});

test('the document has the paths outside the contract: probes, signed URLs, sign-in, SCIM and connectors', () => {
  const beside = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method, it]) => method !== 'parameters' && !it['x-authorization'])
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  );
  expect(beside.sort()).toEqual([
    'DELETE /data/{tenant}/_connectors/{connector}/{schema}/{table}/{id}',
    'DELETE /scim/v2/Groups/{id}',
    'DELETE /scim/v2/Users/{id}',
    'GET /.well-known/svc-user-keys.json',
    'GET /api/v1/openapi.json',
    'GET /api/v1/version',
    'GET /data/{tenant}/_connectors/{connector}/{schema}/{table}',
    'GET /data/{tenant}/_connectors/{connector}/{schema}/{table}/_access',
    'GET /data/{tenant}/_connectors/{connector}/{schema}/{table}/_aggregate',
    'GET /data/{tenant}/_connectors/{connector}/{schema}/{table}/_count',
    'GET /data/{tenant}/_connectors/{connector}/{schema}/{table}/{id}',
    'GET /data/{tenant}/{app}/{table}/{id}/_files/{column}',
    'GET /git-host/setup',
    'GET /healthz',
    'GET /icons/{iconID}',
    'GET /login',
    'GET /login/done',
    'GET /oauth/.well-known/openid-configuration',
    'GET /oauth/auth',
    'GET /oauth/device',
    'GET /oauth/jwks',
    'GET /oauth/me',
    'GET /oauth/session/end',
    'GET /objects/{token}/{name}',
    'GET /readyz',
    'GET /schemas/site.json',
    'GET /schemas/svc.yaml.json',
    'GET /scim/v2/Groups',
    'GET /scim/v2/Groups/{id}',
    'GET /scim/v2/ResourceTypes',
    'GET /scim/v2/ResourceTypes/{id}',
    'GET /scim/v2/Schemas',
    'GET /scim/v2/Schemas/{id}',
    'GET /scim/v2/ServiceProviderConfig',
    'GET /scim/v2/Users',
    'GET /scim/v2/Users/{id}',
    'GET /site-auth',
    'PATCH /data/{tenant}/_connectors/{connector}/{schema}/{table}/{id}',
    'PATCH /scim/v2/Groups/{id}',
    'PATCH /scim/v2/Users/{id}',
    'POST /data/{tenant}/_connectors/{connector}/{schema}/{table}',
    'POST /logout',
    'POST /oauth/device/auth',
    'POST /oauth/me',
    'POST /oauth/token',
    'POST /oauth/token/introspection',
    'POST /oauth/token/revocation',
    'POST /scim/v2/Bulk',
    'POST /scim/v2/Groups',
    'POST /scim/v2/Groups/.search',
    'POST /scim/v2/Users',
    'POST /scim/v2/Users/.search',
    'POST /webhooks/git-host',
    'PUT /icons/{iconID}',
    'PUT /objects/{token}/{name}',
    'PUT /scim/v2/Groups/{id}',
    'PUT /scim/v2/Users/{id}',
    'PUT /sources/{token}',
    'PUT /uploads/{token}/{sha256}',
  ]);
  for (const [path, { put }] of Object.entries(paths).filter(
    ([path, it]) => it.put && !it.put['x-authorization'] && !path.startsWith('/scim/'),
  )) {
    const stored = Object.entries(put?.responses ?? {}).filter(([status]) => status.startsWith('2'));
    expect(stored.map(([status, { content }]) => [path, status, ...Object.keys(content ?? {})])).toEqual(
      stored.map(([status]) => [path, status, 'application/json']),
    );
  }
});

test('each operation lists its error codes', () => {
  const documents = (path: string, method: string, status: number, code: string) =>
    paths[path]?.[method]?.responses[status]?.description.includes(`\`${code}\``) ?? false;
  const request = '/api/v1/tenants/{tenantID}/publication-requests/{request}';
  expect(documents(`${request}/approve`, 'post', 403, 'forbidden')).toBe(true);
  expect(documents(`${request}/withdraw`, 'post', 403, 'forbidden')).toBe(true);
  for (const list of ['/api/v1/tenants/{tenantID}/audit', '/api/v1/tenants/{tenantID}/apps/{app}/audit'])
    expect([list, documents(list, 'get', 400, 'invalid_cursor')]).toEqual([list, true]);
  for (const { endpoint } of everything) {
    const method = endpoint.method.toLowerCase();
    // Errors before the router: invalid encoding, a URL or head that is too long, and rate limits.
    const codes = [
      [400, 'validation_failed'],
      [414, 'uri_too_long'],
      ...(endpoint.perMinuteMax === undefined ? [] : [[429, 'rate_limited'] as const]),
    ] as const;
    for (const [status, code] of codes)
      expect([endpoint.id, code, documents(endpoint.path, method, status, code)]).toEqual([
        endpoint.id,
        code,
        true,
      ]);
  }
});
