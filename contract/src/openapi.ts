import { type ContractEntry, contract, peopleContract, resourceNames, rowContract } from './all.ts';
import type { Endpoint, Shape } from './endpoint.ts';
import { gitSetupPath, gitWebhookPath } from './git-host.ts';
import { versionPath } from './limits.ts';
import { manifestSchemaPath } from './manifest.ts';
import { SchemaComponents, shareComponents } from './openapi-components.ts';
import { connectorRowPaths, connectorRowsTag } from './openapi-connectors.ts';
import { iconPaths } from './openapi-icons.ts';
import { objectPaths } from './openapi-objects.ts';
import {
  dryRunParameter,
  errorCodesOf,
  etagHeader,
  idempotencyKeyParameter,
  ifMatchParameter,
  ifPlanParameter,
  type Json,
  jsonContent,
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
import { scimPaths, scimSchemas } from './openapi-scim.ts';
import { signInPaths } from './openapi-sign-in.ts';
import { uploadPaths } from './openapi-uploads.ts';
import { siteConfigSchemaPath } from './site-config.ts';
import { userKeysPath } from './user-keys.ts';

export function openApiDocument(options: { baseUrl: string; version: string }): Json {
  const paths: Record<string, Json> = {};
  const add = ({ path, method }: Endpoint, operation: Json) => {
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  };
  const components = new SchemaComponents(resourceNames);
  for (const entry of [...contract, ...peopleContract]) add(entry.endpoint, operation(entry, components));
  for (const entry of rowContract) {
    const params = parametersIn('path', entry.shape.params);
    add(entry.endpoint, {
      ...headOf(entry.endpoint),
      ...rowOperation(entry, { ...anyRow, params }),
    });
  }
  const shared = shareComponents({
    ...operationalPaths,
    ...signInPaths,
    ...iconPaths,
    ...objectPaths,
    ...uploadPaths,
    ...scimPaths,
    ...paths,
    ...connectorRowPaths(rowContract),
  });
  const tags = new Set(
    [...contract, ...rowContract, ...peopleContract].map(({ endpoint }) => tagOf(endpoint.id)),
  );
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
    security: securityOf({ credential: 'login' }),
    tags: [...tags, connectorRowsTag].map((name) => ({ name })),
    paths: shared.paths,
    components: {
      securitySchemes: securitySchemes(options.baseUrl),
      schemas: {
        Problem: problemSchema,
        Preview: previewSchema,
        Batch: batchSchema,
        ...scimSchemas,
        ...components.components(),
      },
      parameters: shared.parameters,
      headers: shared.headers,
      responses: shared.responses,
    },
  };
}

function operation(entry: ContractEntry, components: SchemaComponents): Json {
  const { endpoint, shape } = entry;
  return {
    ...headOf(endpoint),
    parameters: parametersOf(endpoint, shape),
    requestBody: shape.body && {
      required: !shape.body.safeParse(undefined).success,
      content: jsonContent(components.body(entry)),
    },
    responses: responsesOf(entry, components.answer(entry)),
  };
}

function headOf({ id, summary, authority, who }: Endpoint): Json {
  return {
    operationId: id,
    tags: [tagOf(id)],
    summary,
    security: authority.credential === 'login' && !authority.token ? undefined : securityOf(authority),
    'x-authorization': who,
    'x-outsider': authority.outsider,
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

function responsesOf({ endpoint, shape }: ContractEntry, schema: Json): Json {
  const { status, etag, kind } = endpoint;
  const hasBody = status !== 204;
  const responses: Record<string, Json> = {
    [status]: {
      description: 'Done.',
      headers: etag && hasBody ? { ...requestIdHeader, ...etagHeader } : requestIdHeader,
      content: hasBody ? jsonContent(schema) : undefined,
    },
  };
  if (kind === 'mutate') {
    // An endpoint that may find nothing to do answers 200 then, also where it answers 201 otherwise.
    const canBeDone = status === 200 || 'changed' in propertiesOf(shape.answer);
    responses[200] = {
      description: canBeDone ? 'Done, or with dry_run the plan.' : 'With dry_run: the plan.',
      headers: requestIdHeader,
      content: jsonContent(canBeDone ? { anyOf: [schema, previewRef] } : previewRef),
    };
  }
  return { ...responses, ...problemResponses(errorCodesOf(endpoint, shape)) };
}

function propertiesOf(shape: Shape['answer']): object {
  const { properties } = schemaOf(shape, 'output') as { properties?: object };
  return properties ?? {};
}

const tagOf = (id: string) => id.split('.')[0] ?? id;

const operationalPaths = {
  '/healthz': plain('operations.healthz: The process is alive', 'application/json'),
  '/readyz': plain('operations.readyz: The database can be reached', 'application/json'),
  '/api/v1/openapi.json': plain('operations.openapi: This document', 'application/json'),
  [versionPath]: plain('operations.version: The version of the server', 'application/json'),
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
      summary: 'Receive a push webhook of the git host, signed with the secret of the hook',
      security: [],
      responses: {
        200: { description: 'Nothing to do, or received before.' },
        202: { description: 'Noted.' },
        401: { description: 'The signature is missing or wrong.' },
      },
    },
  },
};
