import { z } from 'zod';
import type { Endpoint, Shape } from './endpoint.ts';
import { type ErrorCode, errorCodes } from './error-codes.ts';
import { idempotencyKeyCharsMax } from './limits.ts';

/** What the documents of the control plane and of an app's rows are made of alike. */
export type Json = Record<string, unknown>;

export function securitySchemes(baseUrl: string): Json {
  return {
    login: { type: 'http', scheme: 'bearer', description: 'An access token from /oauth.' },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: baseUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session',
    },
    pat: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Rows only.' },
  };
}

export function securityOf(credential: 'login' | 'login_or_pat'): Json[] {
  return [{ login: [] }, { session: [] }, ...(credential === 'login_or_pat' ? [{ pat: [] }] : [])];
}

export const previewRef = { $ref: '#/components/schemas/Preview' };

/** What anybody may ask for: `noun.verb: What it is`. */
export const plain = (description: string, type: string) => ({
  get: {
    operationId: description.split(':')[0],
    tags: ['operations'],
    summary: description.split(': ')[1],
    security: [],
    responses: { 200: { description: 'Answered.', content: { [type]: { schema: {} } } } },
  },
});

/** The codes any endpoint of its kind can answer, and its own. */
export function errorCodesOf(endpoint: Endpoint, shape: Shape): ErrorCode[] {
  const codes = new Set<ErrorCode>(['internal', 'unavailable', 'query_timeout', 'unknown_parameter']);
  // Of the address: what is no UTF-8, and what is too long.
  codes.add('validation_failed').add('uri_too_long');
  for (const code of ['unauthenticated', 'ambiguous_credentials', 'cross_site_request'] as const)
    codes.add(code);
  if (endpoint.authority.credential === 'login') codes.add('login_required');
  if (endpoint.authority.role) codes.add(endpoint.authority.outsider ?? 'not_found');
  const { role, app } = endpoint.authority;
  if (role === 'tenant_admin' || (app && app !== 'visible')) codes.add('forbidden');
  if (shape.body) {
    for (const code of [
      'malformed_json',
      'payload_too_large',
      'unsupported_media_type',
      'request_timeout',
    ] as const)
      codes.add(code);
  }
  if (endpoint.kind === 'mutate') codes.add('plan_stale');
  if (endpoint.perMinuteMax !== undefined) codes.add('rate_limited');
  if (endpoint.method === 'POST') {
    codes.add('idempotency_mismatch');
    codes.add('idempotency_in_progress');
  }
  for (const code of endpoint.errors ?? []) codes.add(code);
  return [...codes];
}

/** One entry per status, each naming its codes and what they mean. */
export function problemResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, Json> = {};
  for (const [status, named] of [...byStatus].sort(([a], [b]) => a - b)) {
    responses[status] = {
      description: named.map((code) => `\`${code}\`: ${errorCodes[code].means}`).join('\n'),
      headers: requestIdHeader,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
  return responses;
}

/** Each property of an object's schema as one parameter of the path or the query. */
export function parametersIn(place: 'path' | 'query', schema: z.ZodType | undefined): Json[] {
  return propertiesOf(schema).map(({ name, schema, required }) => ({
    name,
    in: place,
    required: place === 'path' || required,
    schema,
  }));
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

export const dryRunParameter = {
  name: 'dry_run',
  in: 'query',
  required: false,
  schema: { type: 'boolean' },
  description: 'Answer the plan only.',
};

export const ifPlanParameter = {
  name: 'If-Plan',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'Refuse drift.',
};

export const idempotencyKeyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', maxLength: idempotencyKeyCharsMax },
};

export const ifMatchParameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  schema: { type: 'string' },
  description: 'The `ETag` it was read with.',
};

export const requestIdHeader = {
  'X-Request-Id': { schema: { type: 'string' }, description: 'Finds the request in the log.' },
};

export const problemSchema = {
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

export const previewSchema = {
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
