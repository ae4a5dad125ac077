import {
  connectorKinds,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  listConnectorTables,
  refreshConnectorSchema,
  testConnector,
  tlsModes,
  updateConnector,
} from '@svc/contract/connectors.ts';
import { connectionFields } from '../access/connection-fields.ts';
import { defineCommand, describeCall } from '../command.ts';
import type { Flags } from '../framework/declaration.ts';
import { checkAnyField, flagFields, pageFlags } from '../inputs/common.ts';
import { connectorTableView, connectorView } from '../views/access.ts';

const connectorPositional = { name: 'connector', summary: 'Connector id or slug' } as const;

/** Address of the database server and its login. */
const connectionFlags = {
  host: { type: 'string', placeholder: 'host', summary: 'Host name or IP address of the database server' },
  port: { type: 'integer', min: 1, max: 65_535, summary: 'Its port (5432 for postgres, 3306 for mysql)' },
  database: { type: 'string', placeholder: 'name', summary: 'Database to open' },
  username: { type: 'string', placeholder: 'name', summary: 'Login, preferably with read access only' },
  'password-stdin': {
    type: 'boolean',
    summary: 'Read the password from standard input; it is stored encrypted and never shown',
  },
  tls: {
    type: 'enum',
    values: tlsModes,
    summary: 'require encrypts, verify-ca and verify-full also check the certificate (verify-full)',
  },
  'ca-file': {
    type: 'string',
    placeholder: 'path',
    summary: 'Certificate authority of the server, in PEM format; empty for those of the system',
  },
  app: { type: 'string', placeholder: 'app', summary: 'App whose tables a connector of kind tables opens' },
} as const satisfies Flags;

const accessFlags = {
  owners: {
    type: 'list',
    placeholder: 'user',
    summary: 'Members who decide requests for access, by id or e-mail address; replaces the list',
  },
  'max-duration': {
    type: 'duration',
    min: '0s',
    summary: 'Longest time that can be requested, such as 8h; 0s for no limit',
  },
  'auto-approve': {
    type: 'boolean',
    summary: 'Approve requests up to --max-duration at once, without a person',
  },
} as const satisfies Flags;

function accessFields(flags: {
  owners?: string[] | undefined;
  'max-duration'?: number | undefined;
  'auto-approve'?: boolean | undefined;
}) {
  const ms = flags['max-duration'];
  return {
    owners: flags.owners,
    max_duration_seconds: ms === undefined ? undefined : Math.floor(ms / 1000),
    auto_approve: flags['auto-approve'],
  };
}

export const connectorsList = defineCommand({
  words: 'connectors list',
  summary: "List the tenant's data connectors",
  kind: 'read',
  flags: pageFlags,
  endpoint: listConnectors,
  view: connectorView,
  examples: { '': 'The first page' },
});

export const connectorsGet = defineCommand({
  words: 'connectors get',
  summary: 'Show one connector',
  kind: 'read',
  positionals: [connectorPositional],
  endpoint: getConnector,
  examples: { warehouse: 'By its slug' },
});

export const connectorsCreate = defineCommand({
  words: 'connectors create',
  summary: 'Register a data connector',
  description:
    'Without --host the connector is only a name that grants refer to. Reading its tables needs a grant, for admins too.',
  kind: 'mutate',
  positionals: [{ name: 'slug', optional: true, summary: 'Short name for commands; same as --slug' }],
  flags: {
    name: { type: 'string', summary: 'Display name (the slug)' },
    kind: { type: 'enum', values: connectorKinds, required: true, summary: 'Kind of data source' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands (derived from the name)',
    },
    description: { type: 'string', summary: 'Description' },
    ...accessFlags,
    ...connectionFlags,
    writable: { type: 'boolean', summary: 'Let grants with insert, update or delete change rows' },
  },
  check: ({ flags, positionals }) => {
    if (flags.name === undefined && flags.slug === undefined && positionals.slug === undefined)
      return 'Name the connector: svc connectors create <slug> --kind <kind>, or --name.';
    if (flags.slug !== undefined && positionals.slug !== undefined)
      return 'Give the slug once: as an argument or with --slug.';
    return undefined;
  },
  endpoint: createConnector,
  input: async ({ flags, positionals, ctx }) => {
    const slug = positionals.slug ?? flags.slug;
    return {
      body: {
        name: flags.name ?? slug ?? '',
        slug,
        ...flagFields(flags, 'kind', 'description', 'app'),
        ...accessFields(flags),
        writable: flags.writable,
        connection: await connectionFields(ctx, flags, 'whole'),
      },
    };
  },
  examples: {
    'warehouse --kind postgres --host db.example.com --port 5432 --database dwh --username svc --password-stdin --tls verify-full --execute':
      'Connect a PostgreSQL server',
    'shop-data --kind tables --app shop --execute': 'Open the tables of an app by grants',
    '--name Warehouse --kind postgres --execute': 'Register a name for grants only',
  },
});

export const connectorsUpdate = defineCommand({
  words: 'connectors update',
  summary: 'Change the name, description or settings of a connector',
  description:
    'Another host, port, tls or CA certificate needs the password again. Connections with the old settings are closed.',
  kind: 'mutate',
  positionals: [connectorPositional],
  flags: {
    name: { type: 'string', summary: 'New name' },
    description: { type: 'string', summary: 'New description; empty clears it' },
    ...accessFlags,
    ...connectionFlags,
    writable: {
      type: 'boolean',
      excludes: ['read-only'],
      summary: 'Let grants with insert, update or delete change rows',
    },
    'read-only': { type: 'boolean', summary: 'Reject all changes of rows' },
  },
  check: ({ flags }) => checkAnyField(flags),
  endpoint: updateConnector,
  input: async ({ flags, ctx }) => ({
    body: {
      ...flagFields(flags, 'name', 'description', 'app'),
      ...accessFields(flags),
      writable: flags['read-only'] ? false : flags.writable,
      connection: await connectionFields(ctx, flags, 'part'),
    },
  }),
  examples: {
    'warehouse --owners ada@example.com --max-duration 8h --execute':
      'Say who decides requests, and for how long',
    "warehouse --name 'Sales warehouse' --execute": 'Rename it',
    'warehouse --password-stdin --execute': 'Replace the password',
  },
});

export const connectorsDelete = defineCommand({
  words: 'connectors delete',
  summary: 'Delete a connector that no active grant uses',
  kind: 'mutate',
  positionals: [connectorPositional],
  endpoint: deleteConnector,
  deletedId: getConnector,
  examples: { 'warehouse --execute': 'Delete it' },
});

export const connectorsTest = defineCommand({
  words: 'connectors test',
  summary: 'Connect to the data source, and show the server and what the login can do',
  kind: 'read',
  positionals: [connectorPositional],
  endpoint: testConnector,
  present: (ctx, answer) => {
    for (const warning of answer.warnings) ctx.note(`Warning: ${warning}`);
    return answer;
  },
  examples: { warehouse: 'Version, latency, TLS, rights and warnings' },
});

export const connectorsSchemaRefresh = defineCommand({
  words: 'connectors schema refresh',
  summary: 'Read the tables, views and columns of the data source again',
  description: 'Changes nothing but the stored list of tables. There is no preview.',
  kind: 'act',
  calls: describeCall(refreshConnectorSchema),
  positionals: [connectorPositional],
  run: async (ctx, { positionals }) => {
    const { resolveTenant } = await import('../session/tenant.ts');
    const params = { tenantID: await resolveTenant(ctx), connectorID: positionals.connector };
    return { value: await (await ctx.client()).call(refreshConnectorSchema, { params }) };
  },
  output: async () => (await import('@svc/contract/connectors.shapes.ts')).refreshConnectorSchema.answer,
  examples: { warehouse: 'What was added, removed and changed' },
});

export const connectorsTables = defineCommand({
  words: 'connectors tables',
  summary: 'List the tables and views of a connector as of the last refresh',
  kind: 'read',
  positionals: [connectorPositional],
  flags: pageFlags,
  endpoint: listConnectorTables,
  view: connectorTableView,
  examples: {
    warehouse: 'Paths, columns and primary keys',
    'warehouse --all --json': 'With the type of each column',
  },
});
