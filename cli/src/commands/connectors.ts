import {
  connectorKinds,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  updateConnector,
} from '@svc/contract/connectors.ts';
import { defineCommand } from '../command.ts';
import { flagFields, pageFlags } from '../inputs/common.ts';
import { connectorView } from '../views/access.ts';

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
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  endpoint: getConnector,
  examples: { warehouse: 'By its slug' },
});

export const connectorsCreate = defineCommand({
  words: 'connectors create',
  summary: 'Register a data connector',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Display name' },
    kind: { type: 'enum', values: connectorKinds, required: true, summary: 'Kind of data source' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands (derived from the name)',
    },
    description: { type: 'string', summary: 'Description' },
  },
  endpoint: createConnector,
  input: ({ flags }) => ({
    body: flagFields(flags, 'name', 'slug', 'kind', 'description'),
  }),
  examples: { '--name Warehouse --kind postgres --execute': 'Register a PostgreSQL server' },
});

export const connectorsUpdate = defineCommand({
  words: 'connectors update',
  summary: 'Change the name or description of a connector',
  kind: 'mutate',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  flags: {
    name: { type: 'string', summary: 'New name' },
    description: { type: 'string', summary: 'New description; empty clears it' },
  },
  oneRequired: [['name', 'description']],
  endpoint: updateConnector,
  input: ({ flags }) => ({ body: { name: flags.name, description: flags.description } }),
  examples: { "warehouse --name 'Sales warehouse' --execute": 'Rename it' },
});

export const connectorsDelete = defineCommand({
  words: 'connectors delete',
  summary: 'Delete a connector that no active grant uses',
  kind: 'mutate',
  positionals: [{ name: 'connector', summary: 'Connector id or slug' }],
  endpoint: deleteConnector,
  deletedId: getConnector,
  examples: { 'warehouse --execute': 'Delete it' },
});
