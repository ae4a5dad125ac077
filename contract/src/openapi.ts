import { contract, rowContract } from './all.ts';
import type { Endpoint, Shape } from './endpoint.ts';
import { gitSetupPath, gitWebhookPath } from './git-host.ts';
import { manifestSchemaPath } from './manifest.ts';
import { iconPaths } from './openapi-icons.ts';
import { objectPaths } from './openapi-objects.ts';
import {
  dryRunParameter,
  errorCodesOf,
  idempotencyKeyParameter,
  ifMatchParameter,
  ifPlanParameter,
  type Json,
  parametersIn,
  plain,
  previewRef,
  previewSchema,
  problemResponses,
  problemSchema,
  requestIdHeader,
  schemaOf,
  securityOf,
  securitySchemes,
} from './openapi-parts.ts';
import { anyRow, batchSchema, rowOperation } from './openapi-rows.ts';
import { signInPaths } from './openapi-sign-in.ts';
import { uploadPaths } from './openapi-uploads.ts';
import { siteConfigSchemaPath } from './site-config.ts';
import { userKeysPath } from './user-keys.ts';

/** The OpenAPI 3.1 document of every endpoint, made from the contract alone. */
export function openApiDocument(options: { baseUrl: string; version: string }): Json {
  const paths: Record<string, Json> = {};
  const add = ({ path, method }: Endpoint, operation: Json) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  for (const { endpoint, shape } of contract) add(endpoint, operation(endpoint, shape));
  for (const entry of rowContract) {
    const params = parametersIn('path', entry.shape.params);
    add(entry.endpoint, {
      ...headOf(entry.endpoint),
      ...rowOperation(entry, { ...anyRow, params }),
    });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: options.version,
      description:
        'The control plane of the platform, and the rows of any table; an app describes its own tables at ' +
        '`/api/v1/tenants/{tenantID}/apps/{app}/openapi.json`. Errors are RFC 9457 problems; compare their `code`.',
    },
    servers: [{ url: options.baseUrl }],
    tags: [...new Set([...contract, ...rowContract].map(({ endpoint }) => tagOf(endpoint)))].map((name) => ({
      name,
    })),
    paths: { ...operationalPaths, ...signInPaths, ...iconPaths, ...objectPaths, ...uploadPaths, ...paths },
    components: {
      securitySchemes: securitySchemes(options.baseUrl),
      schemas: { Problem: problemSchema, Preview: previewSchema, Batch: batchSchema },
    },
  };
}

function operation(endpoint: Endpoint, shape: Shape): Json {
  return {
    ...headOf(endpoint),
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
  };
}

function headOf(endpoint: Endpoint): Json {
  return {
    operationId: endpoint.id,
    tags: [tagOf(endpoint)],
    summary: endpoint.summary,
    security: securityOf(endpoint.authority.credential),
    'x-authorization': endpoint.who,
    ...(endpoint.authority.outsider ? { 'x-outsider': endpoint.authority.outsider } : {}),
  };
}

function parametersOf(endpoint: Endpoint, shape: Shape): Json[] {
  const own = [...parametersIn('path', shape.params), ...parametersIn('query', shape.query)];
  const keyed = endpoint.method === 'POST' ? [idempotencyKeyParameter] : [];
  if (endpoint.kind === 'read') return [...own, ...keyed];
  return [
    ...own,
    dryRunParameter,
    ifPlanParameter,
    ...(endpoint.etag && endpoint.method !== 'POST' ? [ifMatchParameter] : []),
    ...keyed,
  ];
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
    // What may find that there is nothing to do says so with 200, also where it answers 201 otherwise.
    if (endpoint.status === 200 || 'changed' in propertiesOf(shape.answer)) {
      responses[200] = {
        description: 'Done, or with dry_run the plan.',
        headers: requestIdHeader,
        content: {
          'application/json': { schema: { anyOf: [schemaOf(shape.answer, 'output'), previewRef] } },
        },
      };
    } else {
      responses[200] = {
        description: 'With dry_run: the plan.',
        headers: requestIdHeader,
        content: { 'application/json': { schema: previewRef } },
      };
    }
  }
  return { ...responses, ...problemResponses(errorCodesOf(endpoint, shape)) };
}

function propertiesOf(shape: Shape['answer']): object {
  const { properties } = schemaOf(shape, 'output') as { properties?: object };
  return properties ?? {};
}

function tagOf(endpoint: Endpoint): string {
  return endpoint.id.split('.')[0] ?? endpoint.id;
}

const operationalPaths = {
  '/healthz': plain('operations.healthz: The process is alive', 'application/json'),
  '/readyz': plain('operations.readyz: The database can be reached', 'application/json'),
  '/metrics': plain('operations.metrics: Metrics in the Prometheus text format', 'text/plain'),
  '/api/v1/openapi.json': plain('operations.openapi: This document', 'application/json'),
  [manifestSchemaPath]: plain(
    'operations.manifestSchema: The JSON Schema of svc.yaml',
    'application/schema+json',
  ),
  [siteConfigSchemaPath]: plain(
    'operations.siteSchema: The JSON Schema of site configurations',
    'application/schema+json',
  ),
  [userKeysPath]: plain(
    'operations.userKeys: The keys (JWKS) that apps verify X-Svc-User with',
    'application/json',
  ),
  [gitSetupPath]: plain(
    'gitHost.setup: Where the git host sends people who have installed the app there',
    'text/html',
  ),
  [gitWebhookPath]: {
    post: {
      operationId: 'gitHost.webhook',
      tags: ['operations'],
      summary: 'What the git host tells of pushes, signed with the secret of the hook',
      security: [],
      responses: {
        200: { description: 'Nothing to do, or told of before.' },
        202: { description: 'Noted.' },
        401: { description: 'The signature is missing or wrong.' },
      },
    },
  },
};
