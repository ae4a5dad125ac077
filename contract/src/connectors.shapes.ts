import { z } from 'zod';
import { connectorKinds, connectorNameCharsMax } from './connectors.ts';
import {
  chars,
  displayName,
  empty,
  page,
  pageQuery,
  ref,
  slug,
  tenantParams,
  timestamp,
  uuid,
} from './shapes.ts';

export const Connector = z.object({
  id: uuid,
  tenant_id: uuid,
  slug: z.string(),
  name: z.string(),
  kind: z.enum(connectorKinds),
  description: z.string(),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});

const connectorParams = tenantParams.extend({ connectorID: ref });

export const listConnectors = { params: tenantParams, query: pageQuery, answer: page(Connector) };
export const createConnector = {
  params: tenantParams,
  body: z.strictObject({
    name: displayName(1, connectorNameCharsMax),
    slug: slug.optional().meta({ description: 'Derived from the name when absent.' }),
    kind: z.enum(connectorKinds),
    description: chars(0, 1000).default(''),
  }),
  answer: Connector,
};
export const getConnector = { params: connectorParams, answer: Connector };
export const updateConnector = {
  params: connectorParams,
  body: z.strictObject({
    name: displayName(1, connectorNameCharsMax).optional(),
    description: chars(0, 1000).optional(),
  }),
  answer: Connector,
};
export const deleteConnector = { params: connectorParams, answer: empty };
