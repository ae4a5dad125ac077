import { z } from 'zod';
import type { Authority, Endpoint, Shape } from './endpoint.ts';
import { type ErrorCode, errorCodes } from './error-codes.ts';
import { idempotencyKeyCharsMax } from './limits.ts';

export type Json = Record<string, unknown>;

export function securitySchemes(baseUrl: string): Json {
  return {
    login: { type: 'http', scheme: 'bearer', description: 'An access token from /oauth.' },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: baseUrl.startsWith('https:') ? '__Host-svc_session' : 'svc_session',
    },
    pat: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Api-Key',
      description: 'Rows, git and deployments, as its actions allow.',
    },
    scim: {
      type: 'http',
      scheme: 'bearer',
      description: 'The token of a directory, from svc-admin scim-token create.',
    },
  };
}

export function securityOf({ credential, token }: Pick<Authority, 'credential' | 'token'>): Json[] {
  const acceptsPat = credential === 'login_or_pat' || token !== undefined;
  return [{ login: [] }, { session: [] }, ...(acceptsPat ? [{ pat: [] }] : [])];
}

export const previewRef = { $ref: '#/components/schemas/Preview' };

export const plain = (description: string, type: string) => ({
  get: {
    operationId: description.split(':')[0],
    tags: ['operations'],
    summary: description.split(': ')[1],
    security: [],
    responses: { 200: { description: 'Answered.', content: { [type]: { schema: {} } } } },
  },
});

export function errorCodesOf(endpoint: Endpoint, shape: Shape): ErrorCode[] {
  const { credential, role, outsider, app, token } = endpoint.authority;
  const isRestricted = role === 'tenant_admin' || (app && app !== 'visible');
  const codes: (ErrorCode | false | undefined)[] = [
    'internal',
    'unavailable',
    'query_timeout',
    'unknown_parameter',
    'validation_failed',
    'uri_too_long',
    'unauthenticated',
    'ambiguous_credentials',
    'cross_site_request',
    credential === 'login' && token === undefined && 'login_required',
    role && (outsider ?? 'not_found'),
    isRestricted && 'forbidden',
    ...(shape.body ? bodyErrors : []),
    endpoint.kind === 'mutate' && 'plan_stale',
    'rate_limited',
    ...(endpoint.method === 'POST' ? keyErrors : []),
    ...(endpoint.errors ?? []),
  ];
  return [...new Set(codes.filter((code) => !!code))];
}

const bodyErrors = [
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'request_timeout',
] as const;
const keyErrors = ['idempotency_mismatch', 'idempotency_in_progress'] as const;

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

export function parametersIn(location: 'path' | 'query', shape: z.ZodType | undefined): Json[] {
  if (!shape) return [];
  const { properties = {}, required = [] } = schemaOf(shape, 'input') as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: location,
    required: location === 'path' || required.includes(name),
    schema,
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

/** An optional parameter. */
const optional = (location: 'query' | 'header') => (name: string, description?: string, schema?: Json) => ({
  name,
  in: location,
  required: false,
  schema: schema ?? { type: 'string' },
  description,
});
export const header = optional('header');

export const dryRunParameter = optional('query')('dry_run', 'Return the plan and change nothing.', {
  type: 'boolean',
});
export const ifPlanParameter = header(
  'If-Plan',
  'The fingerprint of a previewed plan; the change is refused if the plan would differ.',
);
export const idempotencyKeyParameter = header('Idempotency-Key', undefined, {
  type: 'string',
  maxLength: idempotencyKeyCharsMax,
});
export const ifMatchParameter = header('If-Match', 'The `ETag` of the version that was read.');

/** A required parameter. */
export const requiredParameter = (
  location: 'path' | 'query',
  name: string,
  schema: Json = { type: 'string' },
) => ({
  name,
  in: location,
  required: true,
  schema,
});

export const jsonContent = (schema: unknown, example?: unknown) => ({
  'application/json': { schema, example },
});
export const etagHeader = { ETag: { schema: { type: 'string' } } };
export const binary = { type: 'string', format: 'binary' };

export const requestIdHeader = {
  'X-Request-Id': { schema: { type: 'string' }, description: "Identifies the request in the server's log." },
};

const string = { type: 'string' };
/** All properties are required, but those in `optional`. */
const object = (properties: Json, optional: readonly string[] = []) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

export const problemSchema = object(
  {
    type: string,
    title: string,
    status: { type: 'integer' },
    detail: string,
    code: { type: 'string', enum: Object.keys(errorCodes) },
    request_id: string,
    errors: {
      type: 'array',
      items: object(
        {
          field: string,
          column: string,
          line: { type: 'integer' },
          operation: { type: 'integer' },
          code: string,
          detail: string,
        },
        ['field', 'column', 'line', 'operation'],
      ),
    },
    request_url: { type: 'string', description: 'Of `grant_missing`: where the grant can be requested.' },
  },
  ['errors', 'request_url'],
);

const planEffect = object({
  grant_id: string,
  subject: object({ kind: string, id: string, name: string }),
  path: string,
  rows: {
    anyOf: [
      object({
        before: { type: 'integer' },
        after: { type: 'integer' },
        gained: { type: 'integer' },
        lost: { type: 'integer' },
      }),
      { type: 'null' },
    ],
  },
  columns_gained: { type: 'array', items: string },
  columns_lost: { type: 'array', items: string },
  masks: { type: 'array', items: object({ column: string, before: string, after: string }) },
  text: string,
});

export const previewSchema = object({
  dry_run: { const: true },
  plan: object(
    {
      operation: string,
      target: { type: 'object', properties: { kind: string, id: string, name: string } },
      changes: {
        type: 'array',
        items: object({
          path: string,
          before: {},
          after: {},
          effect: { enum: ['create', 'update', 'delete'] },
        }),
      },
      warnings: { type: 'array', items: string },
      irreversible: { type: 'boolean' },
      effects: {
        type: 'array',
        items: planEffect,
        description: 'Of a policy: what each grant gains and loses.',
      },
      effects_left_off: { type: 'integer' },
      fingerprint: string,
    },
    ['effects', 'effects_left_off'],
  ),
});
