import { z } from 'zod';
import { contract } from './all.ts';
import type { Endpoint, Shape } from './endpoint.ts';
import { type ErrorCode, errorCodes } from './error-codes.ts';
import { idempotencyKeyCharsMax } from './limits.ts';

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of every endpoint, made from the contract alone. */
export function openApiDocument(options: { baseUrl: string; version: string }): Json {
  const paths: Record<string, Json> = {};
  for (const { endpoint, shape } of contract) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: operation(endpoint, shape),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: options.version,
      description: 'The control plane of the platform. Errors are RFC 9457 problems; compare their `code`.',
    },
    servers: [{ url: options.baseUrl }],
    tags: [...new Set(contract.map(({ endpoint }) => tagOf(endpoint)))].map((name) => ({ name })),
    paths: { ...operationalPaths, ...paths },
    components: {
      securitySchemes: {
        login: { type: 'http', scheme: 'bearer', description: 'An access token from /oauth.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: options.baseUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session',
        },
        pat: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Rows only.' },
      },
      schemas: { Problem: problemSchema, Preview: previewSchema },
    },
  };
}

function operation(endpoint: Endpoint, shape: Shape): Json {
  return {
    operationId: endpoint.id,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    security: [
      { login: [] },
      { session: [] },
      ...(endpoint.authority.credential === 'login_or_pat' ? [{ pat: [] }] : []),
    ],
    parameters: parametersOf(endpoint, shape),
    ...(shape.body
      ? {
          requestBody: {
            required: !shape.body.safeParse(undefined).success,
            content: { 'application/json': { schema: schemaOf(shape.body, 'input') } },
          },
        }
      : {}),
    responses: responsesOf(endpoint, shape),
    'x-authorization': endpoint.who,
    ...(endpoint.authority.outsider ? { 'x-outsider': endpoint.authority.outsider } : {}),
  };
}

function parametersOf(endpoint: Endpoint, shape: Shape): Json[] {
  const inPath = propertiesOf(shape.params).map(({ name, schema }) => ({
    name,
    in: 'path',
    required: true,
    schema,
  }));
  const inQuery = propertiesOf(shape.query).map(({ name, schema, required }) => ({
    name,
    in: 'query',
    required,
    schema,
  }));
  if (endpoint.kind === 'read') return [...inPath, ...inQuery];
  const changing = [
    {
      name: 'dry_run',
      in: 'query',
      required: false,
      schema: { type: 'boolean' },
      description: 'Answer the plan only.',
    },
    {
      name: 'If-Plan',
      in: 'header',
      required: false,
      schema: { type: 'string' },
      description: 'Refuse drift.',
    },
  ];
  const once =
    endpoint.method === 'POST'
      ? [
          {
            name: 'Idempotency-Key',
            in: 'header',
            required: false,
            schema: { type: 'string', maxLength: idempotencyKeyCharsMax },
          },
        ]
      : [];
  const guarded =
    endpoint.etag && endpoint.method !== 'POST'
      ? [
          {
            name: 'If-Match',
            in: 'header',
            required: false,
            schema: { type: 'string' },
            description: 'The `ETag` it was read with.',
          },
        ]
      : [];
  return [...inPath, ...inQuery, ...changing, ...guarded, ...once];
}

function responsesOf(endpoint: Endpoint, shape: Shape): Json {
  const responses: Record<string, Json> = {};
  responses[endpoint.status] = {
    description: 'Done.',
    headers:
      endpoint.etag && endpoint.status !== 204
        ? { ...requestIdHeader, ETag: { schema: { type: 'string' } } }
        : requestIdHeader,
    ...(endpoint.status === 204
      ? {}
      : { content: { 'application/json': { schema: schemaOf(shape.answer, 'output') } } }),
  };
  if (endpoint.kind === 'mutate') {
    const preview = { $ref: '#/components/schemas/Preview' };
    if (endpoint.status === 200) {
      responses[200] = {
        description: 'Done, or with dry_run the plan.',
        headers: requestIdHeader,
        content: { 'application/json': { schema: { anyOf: [schemaOf(shape.answer, 'output'), preview] } } },
      };
    } else {
      responses[200] = {
        description: 'With dry_run: the plan.',
        headers: requestIdHeader,
        content: { 'application/json': { schema: preview } },
      };
    }
  }
  for (const [status, codes] of codesByStatus(endpoint, shape)) {
    responses[status] = {
      description: codes.map((code) => `\`${code}\`: ${errorCodes[code].means}`).join('\n'),
      headers: requestIdHeader,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
  return responses;
}

/** The codes any endpoint of its kind can answer, and its own. */
export function errorCodesOf(endpoint: Endpoint, shape: Shape): ErrorCode[] {
  const codes = new Set<ErrorCode>(['internal', 'unavailable', 'query_timeout', 'unknown_parameter']);
  for (const code of ['unauthenticated', 'ambiguous_credentials', 'cross_site_request'] as const)
    codes.add(code);
  if (endpoint.authority.credential === 'login') codes.add('login_required');
  if (endpoint.authority.role) codes.add(endpoint.authority.outsider ?? 'not_found');
  if (endpoint.authority.role === 'tenant_admin') codes.add('forbidden');
  if (shape.body) {
    for (const code of [
      'validation_failed',
      'malformed_json',
      'payload_too_large',
      'unsupported_media_type',
      'request_timeout',
    ] as const)
      codes.add(code);
  }
  if (shape.query || endpoint.kind === 'mutate') codes.add('validation_failed');
  if (endpoint.kind === 'mutate') codes.add('plan_stale');
  if (endpoint.kind === 'mutate' && endpoint.method === 'POST') {
    codes.add('idempotency_mismatch');
    codes.add('idempotency_in_progress');
  }
  for (const code of endpoint.errors ?? []) codes.add(code);
  return [...codes];
}

function codesByStatus(endpoint: Endpoint, shape: Shape): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodesOf(endpoint, shape)) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([a], [b]) => a - b));
}

function propertiesOf(schema: z.ZodType | undefined): { name: string; schema: unknown; required: boolean }[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    schema: property,
    required: required.includes(name),
  }));
}

export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return rest;
}

function tagOf(endpoint: Endpoint): string {
  return endpoint.id.split('.')[0] ?? endpoint.id;
}

const requestIdHeader = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Finds the request in the log.' },
};

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(errorCodes) },
    request_id: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['code', 'detail'],
        properties: {
          field: { type: 'string' },
          column: { type: 'string' },
          line: { type: 'integer' },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
      },
    },
  },
};

const previewSchema = {
  type: 'object',
  required: ['dry_run', 'plan'],
  properties: {
    dry_run: { const: true },
    plan: {
      type: 'object',
      required: ['operation', 'target', 'changes', 'warnings', 'irreversible', 'fingerprint'],
      properties: {
        operation: { type: 'string' },
        target: {
          type: 'object',
          properties: { kind: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' } },
        },
        changes: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'before', 'after', 'effect'],
            properties: {
              path: { type: 'string' },
              before: {},
              after: {},
              effect: { enum: ['create', 'update', 'delete'] },
            },
          },
        },
        warnings: { type: 'array', items: { type: 'string' } },
        irreversible: { type: 'boolean' },
        fingerprint: { type: 'string' },
      },
    },
  },
};

const plain = (description: string, type: string) => ({
  get: {
    operationId: description.split(':')[0],
    tags: ['operations'],
    summary: description.split(': ')[1],
    security: [],
    responses: { 200: { description: 'Answered.', content: { [type]: { schema: {} } } } },
  },
});

const operationalPaths = {
  '/healthz': plain('operations.healthz: The process is alive', 'application/json'),
  '/readyz': plain('operations.readyz: The database can be reached', 'application/json'),
  '/metrics': plain('operations.metrics: Metrics in the Prometheus text format', 'text/plain'),
  '/api/v1/openapi.json': plain('operations.openapi: This document', 'application/json'),
  '/oauth/.well-known/openid-configuration': plain(
    'oauth.discovery: Where to sign in, and how',
    'application/json',
  ),
  '/login': plain('login.start: Signs a browser in, then goes to `return_to`', 'text/html'),
  '/login/done': plain('login.done: Where the sign-in comes back to', 'text/html'),
  '/logout': {
    post: {
      operationId: 'login.end',
      tags: ['operations'],
      summary: "Ends the browser's session",
      security: [{ session: [] }],
      responses: { 307: { description: 'To the page that ends it.' } },
    },
  },
};
