import type { connectorKinds } from '@svc/contract/connectors.ts';

export type ConnectorKind = (typeof connectorKinds)[number];

/** What people choose between, and what a scope names there. */
export const kindTexts: Record<ConnectorKind, { label: string; description: string }> = {
  tables: {
    label: 'Tables of apps',
    description: 'Tables that apps of this tenant keep here. A scope names an app, or app/table.',
  },
  postgres: {
    label: 'PostgreSQL',
    description: 'A database outside. A scope names a schema, or schema/table.',
  },
  http: {
    label: 'HTTP service',
    description: 'A service outside. A scope names an area of it, or area/resource.',
  },
};
