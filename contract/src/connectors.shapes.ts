import { z } from 'zod';
import { storedType } from './columns.shapes.ts';
import { connectorKinds, connectorNameCharsMax, connectorOwnersMax, tlsModes } from './connectors.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  slug,
  tenantParams,
  text,
  timestamp,
  uuid,
} from './shapes.ts';

const Connection = z.object({
  host: z.string(),
  port: z.int(),
  database: z.string(),
  username: z.string(),
  tls: z.enum(tlsModes),
  ca_certificate: z
    .string()
    .meta({ description: "PEM; empty = the certificate authorities of the server's system." }),
  has_password: z.boolean(),
});

export const Connector = z.object({
  id: uuid,
  tenant_id: uuid,
  slug: z.string(),
  name: z.string(),
  kind: z.enum(connectorKinds),
  description: z.string(),
  owners: z.array(z.string()).meta({
    description: 'Ids of members who decide requests for access and see the access log of the connector.',
  }),
  max_duration_seconds: z.int().meta({ description: 'Longest time that can be requested; 0 = no limit.' }),
  auto_approve: z.boolean().meta({
    description: 'Requests up to `max_duration_seconds` are approved at once, without a person.',
  }),
  app_id: z.string().meta({ description: 'The app of a connector of kind `tables`; empty = none.' }),
  connection: Connection.nullable(),
  writable: z
    .boolean()
    .meta({ description: 'Whether rows can be changed at all; a grant must allow it too.' }),
  schema_refreshed_at: z.string().meta({ description: 'RFC 3339, UTC; empty = never.' }),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});

const accessSettings = {
  owners: z
    .array(ref)
    .max(connectorOwnersMax)
    .optional()
    .meta({ description: 'Ids or e-mail addresses of members; replaces the list.' }),
  max_duration_seconds: z
    .int()
    .min(0)
    .max(365 * 24 * 3600)
    .optional(),
  auto_approve: z.boolean().optional(),
};

const host = text
  .regex(/^(?=.{1,253}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?(?:\.|$))+$|^[0-9A-Fa-f:.]{2,45}$/, {
    error: 'must be a host name or an IP address, without a port',
  })
  .meta({ description: 'A host name or an IP address.' });
/** PostgreSQL truncates longer names, MariaDB refuses them. */
const identifier = chars(1, 128);
const connection = {
  host,
  port: z.int().min(1).max(65_535),
  database: identifier,
  username: identifier,
  password: text.max(1024).meta({ description: 'Stored encrypted and never returned.', writeOnly: true }),
  tls: z.enum(tlsModes),
  ca_certificate: text
    .max(64 * 1024)
    .refine((value) => value === '' || /-----BEGIN CERTIFICATE-----/.test(value), {
      error: 'must be a certificate in PEM format',
    }),
};

const connectorParams = tenantParams.extend({ connectorID: ref });

export const listConnectors = { params: tenantParams, query: pageQuery, answer: page(Connector) };
export const createConnector = {
  params: tenantParams,
  body: z.strictObject({
    name: displayName(1, connectorNameCharsMax),
    slug: slug.optional().meta({ description: 'Derived from the name when absent.' }),
    kind: z.enum(connectorKinds),
    description: chars(0, 1000).default(''),
    ...accessSettings,
    app: ref.optional().meta({ description: 'Only for the kind `tables`: the app whose tables it opens.' }),
    connection: z
      .strictObject({
        host: connection.host,
        port: connection.port.optional().meta({ description: 'The usual port of the kind when absent.' }),
        database: connection.database,
        username: connection.username,
        password: connection.password.default(''),
        tls: connection.tls.default('verify-full'),
        ca_certificate: connection.ca_certificate.default(''),
      })
      .optional()
      .meta({ description: 'Only for the kinds `postgres` and `mysql`.' }),
    writable: z.boolean().default(false),
  }),
  answer: Connector,
};
export const getConnector = { params: connectorParams, answer: Connector };
export const updateConnector = {
  params: connectorParams,
  body: z.strictObject({
    name: displayName(1, connectorNameCharsMax).optional(),
    description: chars(0, 1000).optional(),
    ...accessSettings,
    app: ref.optional(),
    connection: z.strictObject(connection).partial().optional().meta({
      description: 'A change of host, port, tls or ca_certificate needs the password too.',
    }),
    writable: z.boolean().optional(),
  }),
  answer: Connector,
};
export const deleteConnector = { params: connectorParams, answer: empty };

export const ConnectorTest = z.object({
  server: z.string().meta({ description: 'Such as `PostgreSQL`.' }),
  version: z.string(),
  latency_ms: z.number(),
  tls: z.string().meta({ description: 'Such as `TLSv1.3`; empty = the connection is not encrypted.' }),
  login: z.object({
    username: z.string(),
    is_superuser: z.boolean(),
    can_write: z.boolean(),
    tables: z.int().meta({ description: 'Tables and views that the login can read.' }),
  }),
  warnings: z.array(z.string()),
});

export const ConnectorColumn = z.object({
  name: z.string(),
  type: storedType,
  native_type: z.string(),
  nullable: z.boolean(),
});

export const ConnectorTable = z.object({
  path: z.string().meta({ description: '`schema/table`, as in scopes of grants.' }),
  schema: z.string(),
  name: z.string(),
  kind: z.enum(['table', 'view']),
  primary_key: z.array(z.string()),
  columns: z.array(ConnectorColumn),
});

export const testConnector = { params: connectorParams, answer: ConnectorTest };
export const refreshConnectorSchema = {
  params: connectorParams,
  answer: z.object({
    connector_id: uuid,
    tables: z.int(),
    added: z.array(z.string()),
    removed: z.array(z.string()),
    changed: z.array(z.string()),
    unfit_policies: z.array(z.string()).meta({
      description:
        '`policy: schema/table`: the policy names what the table does not have, so nobody reads it.',
    }),
    schema_refreshed_at: timestamp,
  }),
};
export const listConnectorTables = {
  params: connectorParams,
  query: pageQuery,
  answer: page(ConnectorTable),
};
