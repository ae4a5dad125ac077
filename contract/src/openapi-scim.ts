import { type Json, requiredParameter } from './openapi-parts.ts';

const media = 'application/scim+json';
const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const content = (name: string) => ({ [media]: { schema: schema(name) } });
const id = requiredParameter('path', 'id');
const text = { type: 'string' };
const query = (name: string, description: string): Json => ({ name, in: 'query', description, schema: text });
const listQuery = [
  query(
    'filter',
    'RFC 7644 §3.4.2.2: `eq ne co sw ew pr gt ge lt le`, `and or not`, such as `userName eq "ada@example.com"`.',
  ),
  query('sortBy', 'An attribute, such as `userName`, `name.familyName` or `meta.lastModified`.'),
  { ...query('sortOrder', ''), schema: { enum: ['ascending', 'descending'] } },
  { ...query('startIndex', 'From 1.'), schema: { type: 'integer', minimum: 1 } },
  { ...query('count', 'At most 200; 100 when absent.'), schema: { type: 'integer', minimum: 0 } },
];
const selection = [
  query('attributes', 'Only these attributes.'),
  query('excludedAttributes', 'All but these attributes.'),
];

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  description,
  schema: text,
});
const ifMatch = header(
  'If-Match',
  'The `meta.version` that is to be changed; 412 if it has changed meanwhile.',
);
const ifNoneMatch = header('If-None-Match', 'A `meta.version`; 304 if it is still the present one.');

interface Described {
  summary: string;
  parameters?: Json[];
  body?: string;
  success: [status: number, schema: string | null];
  /** Further responses. */
  more?: Json | undefined;
}

function operation(
  operationId: string,
  { summary, parameters = [], body, success, more = {} }: Described,
): Json {
  const [status, answer] = success;
  const failure = (description: string) => ({ description, content: content('ScimError') });
  return {
    operationId,
    tags: ['scim'],
    summary,
    security: [{ scim: [] }],
    parameters,
    requestBody: body && { required: true, content: content(body) },
    responses: {
      [status]: { description: 'Done.', content: answer === null ? undefined : content(answer) },
      ...more,
      400: failure('The filter, the path or a value is invalid; see `scimType`.'),
      401: failure('The token is missing, unknown or revoked.'),
      404: failure('There is no such resource in the tenant.'),
      409: failure('Another resource has this name.'),
      ...(parameters.includes(ifMatch) ? { 412: failure('The resource has another version.') } : {}),
    },
  };
}

const listPath = (name: string, summary: string): Json => ({
  get: operation(`scim.${name}`, { summary, success: [200, 'ScimList'] }),
});

function resource(noun: 'User' | 'Group', plural: string): Record<string, Json> {
  const named = `Scim${noun}`;
  const one = { parameters: [id, ...selection] };
  const changed = { parameters: [...one.parameters, ifMatch] };
  return {
    [`/scim/v2/${plural}`]: {
      get: operation(`scim.list${plural}`, {
        summary: `List or find ${plural.toLowerCase()} of the tenant`,
        parameters: [...listQuery, ...selection],
        success: [200, 'ScimList'],
      }),
      post: operation(`scim.create${noun}`, {
        summary: `Create a ${noun.toLowerCase()}`,
        body: named,
        success: [201, named],
      }),
    },
    [`/scim/v2/${plural}/.search`]: {
      post: operation(`scim.search${plural}`, {
        summary: `List or find ${plural.toLowerCase()} by a query in the body (RFC 7644 §3.4.3)`,
        body: 'ScimSearch',
        success: [200, 'ScimList'],
      }),
    },
    [`/scim/v2/${plural}/{id}`]: {
      get: operation(`scim.get${noun}`, {
        summary: `Get a ${noun.toLowerCase()}`,
        parameters: [...one.parameters, ifNoneMatch],
        success: [200, named],
      }),
      put: operation(`scim.replace${noun}`, {
        summary: `Replace a ${noun.toLowerCase()}`,
        ...changed,
        body: named,
        success: [200, named],
      }),
      patch: operation(`scim.modify${noun}`, {
        summary: `Change a ${noun.toLowerCase()}`,
        ...changed,
        body: 'ScimPatch',
        success: noun === 'User' ? [200, named] : [204, null],
        more:
          noun === 'User'
            ? undefined
            : { 200: { description: 'With `attributes`.', content: content(named) } },
      }),
      delete: operation(`scim.delete${noun}`, {
        summary:
          noun === 'User'
            ? 'Remove a user from the tenant; access and sign-ins end immediately'
            : 'Delete a group; access through it ends immediately',
        parameters: [id, ifMatch],
        success: [204, null],
      }),
    },
  };
}

/** SCIM 2.0 (RFC 7643, RFC 7644) for the directory of a tenant; the token names the tenant. */
export const scimPaths: Record<string, Json> = {
  '/scim/v2/ServiceProviderConfig': {
    get: operation('scim.config', {
      summary: 'What this service supports of SCIM',
      success: [200, 'ScimServiceProviderConfig'],
    }),
  },
  '/scim/v2/ResourceTypes': listPath('resourceTypes', 'List the types of resources'),
  '/scim/v2/ResourceTypes/{id}': {
    get: operation('scim.resourceType', {
      summary: 'Get a type of resources',
      parameters: [id],
      success: [200, 'ScimResource'],
    }),
  },
  '/scim/v2/Schemas': listPath('schemas', 'List the schemas of resources'),
  '/scim/v2/Schemas/{id}': {
    get: operation('scim.schema', {
      summary: 'Get the schema of a resource',
      parameters: [id],
      success: [200, 'ScimResource'],
    }),
  },
  '/scim/v2/Bulk': {
    post: operation('scim.bulk', {
      summary: 'Carry out several changes, each in a transaction of its own',
      body: 'ScimBulkRequest',
      success: [200, 'ScimBulkResponse'],
    }),
  },
  ...resource('User', 'Users'),
  ...resource('Group', 'Groups'),
};

const object = (properties: Json, names: string[] = []): Json => ({
  type: 'object',
  required: names,
  properties,
});
const list = (items: Json): Json => ({ type: 'array', items });
const base = { schemas: list(text), id: text, meta: { type: 'object' } };
const references = list(object({ value: text, display: text }));

export const scimSchemas: Record<string, Json> = {
  ScimUser: object(
    {
      ...base,
      externalId: text,
      userName: text,
      name: object({ formatted: text, givenName: text, familyName: text }),
      displayName: text,
      emails: list(object({ value: text, type: text, primary: { type: 'boolean' }, display: text })),
      active: { type: 'boolean' },
      groups: references,
    },
    ['userName'],
  ),
  ScimGroup: object({ ...base, externalId: text, displayName: text, members: references }, ['displayName']),
  ScimPatch: object(
    {
      schemas: list(text),
      Operations: list(object({ op: { enum: ['add', 'replace', 'remove'] }, path: text, value: {} }, ['op'])),
    },
    ['Operations'],
  ),
  ScimSearch: object({
    schemas: list(text),
    filter: text,
    sortBy: text,
    sortOrder: { enum: ['ascending', 'descending'] },
    startIndex: { type: 'integer' },
    count: { type: 'integer' },
    attributes: list(text),
    excludedAttributes: list(text),
  }),
  ScimBulkRequest: object(
    {
      schemas: list(text),
      failOnErrors: { type: 'integer', minimum: 1 },
      Operations: list(
        object(
          {
            method: { enum: ['POST', 'PUT', 'PATCH', 'DELETE'] },
            bulkId: text,
            version: text,
            path: text,
            data: { type: 'object' },
          },
          ['method', 'path'],
        ),
      ),
    },
    ['Operations'],
  ),
  ScimBulkResponse: object({
    schemas: list(text),
    Operations: list(
      object({
        method: text,
        bulkId: text,
        location: text,
        version: text,
        status: text,
        response: { type: 'object' },
      }),
    ),
  }),
  ScimList: object({
    schemas: list(text),
    totalResults: { type: 'integer' },
    startIndex: { type: 'integer' },
    itemsPerPage: { type: 'integer' },
    Resources: list({ type: 'object' }),
  }),
  ScimResource: object(base),
  ScimServiceProviderConfig: object({ schemas: list(text), meta: { type: 'object' } }),
  ScimError: object({ schemas: list(text), status: text, scimType: text, detail: text }, [
    'schemas',
    'status',
  ]),
};
