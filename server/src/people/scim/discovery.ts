import { bulkLimits } from './bulk.ts';
import { addressParts } from './filter.ts';
import { groupSchema } from './groups.ts';
import {
  enterpriseSchema,
  enterpriseTexts,
  managerParts,
  otherLists,
  otherTexts,
} from './other-attributes.ts';
import { nameParts, userSchema } from './user-resource.ts';

export const countMax = 200;

/** RFC 7643 §5 to §7: what a directory may ask before it sends anything. */
export const serviceProviderConfig = (baseUrl: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: true, ...bulkLimits },
  filter: { supported: true, maxResults: countMax },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer token',
      description: 'A token that the operator created with svc-admin scim-token create.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${baseUrl}/scim/v2/ServiceProviderConfig` },
});

export const resourceTypes = (baseUrl: string) =>
  [
    {
      id: 'User',
      endpoint: '/Users',
      schema: userSchema,
      schemaExtensions: [{ schema: enterpriseSchema, required: false }],
    },
    { id: 'Group', endpoint: '/Groups', schema: groupSchema },
  ].map((type) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    ...type,
    name: type.id,
    meta: { resourceType: 'ResourceType', location: `${baseUrl}/scim/v2/ResourceTypes/${type.id}` },
  }));

type Attribute = Record<string, unknown> & { name: string };

const attribute = (name: string, more: Record<string, unknown> = {}): Attribute => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const complex = (name: string, subAttributes: Attribute[], more: Record<string, unknown> = {}) =>
  attribute(name, { type: 'complex', subAttributes, ...more });
const readOnly = { mutability: 'readOnly' };
const reference = (type: string) =>
  attribute('$ref', { type: 'reference', referenceTypes: [type], ...readOnly });

const valueAttributes = (list: (typeof otherLists)[number]): Attribute[] => [
  ...(list === 'addresses' ? addressParts : ['value', 'display']).map((part) => attribute(part)),
  attribute('type'),
  attribute('primary', { type: 'boolean' }),
];

export const schemas = (baseUrl: string) =>
  [
    {
      id: userSchema,
      name: 'User',
      description: 'A member of the tenant',
      attributes: [
        attribute('userName', { required: true, uniqueness: 'server' }),
        complex(
          'name',
          nameParts.map((part) => attribute(part)),
        ),
        attribute('displayName'),
        complex(
          'emails',
          [
            attribute('value'),
            attribute('display'),
            attribute('type'),
            attribute('primary', { type: 'boolean' }),
          ],
          { multiValued: true },
        ),
        ...otherTexts.map((name) => attribute(name)),
        ...otherLists.map((name) => complex(name, valueAttributes(name), { multiValued: true })),
        attribute('active', { type: 'boolean' }),
        complex(
          'groups',
          [attribute('value', readOnly), attribute('display', readOnly), reference('Group')],
          {
            multiValued: true,
            ...readOnly,
          },
        ),
      ],
    },
    {
      id: enterpriseSchema,
      name: 'EnterpriseUser',
      description: 'Attributes of an employee',
      attributes: [
        ...enterpriseTexts.map((name) => attribute(name)),
        complex(
          'manager',
          managerParts.map((part) => attribute(part)),
        ),
      ],
    },
    {
      id: groupSchema,
      name: 'Group',
      description: 'A group of members of the tenant',
      attributes: [
        attribute('displayName', { required: true, uniqueness: 'server' }),
        complex('members', [attribute('value'), attribute('display', readOnly), reference('User')], {
          multiValued: true,
        }),
      ],
    },
  ].map((schema) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    ...schema,
    meta: { resourceType: 'Schema', location: `${baseUrl}/scim/v2/Schemas/${schema.id}` },
  }));
