import * as shapes from '@svc/contract/domains.shapes.ts';
import * as endpoints from '@svc/contract/domains.ts';
import { type Route, route, routes } from '../../http/router.ts';
import type { DomainsConfig } from './domain-settings.ts';
import {
  addDomain,
  type DomainLookup,
  getDomain,
  listDomains,
  lookUpDomain,
  removeDomain,
  verifyDomain,
} from './domains.ts';

export const domainRoutes = (config: DomainsConfig): Route[] => [
  ...routes(endpoints, shapes, {
    listDomains: (ctx, { query }) => listDomains(ctx, query, config),
    getDomain: (ctx, { params }) => getDomain(ctx, params.domain, config),
    removeDomain: (ctx, { params }) => removeDomain(ctx, params.domain),
  }),
  route(
    endpoints.addDomain,
    shapes.addDomain,
    (ctx, { body }, addresses: readonly string[]) => addDomain(ctx, body, config, addresses),
    { prepare: () => config.addresses() },
  ),
  route(
    endpoints.verifyDomain,
    shapes.verifyDomain,
    (ctx, { params }, lookup: DomainLookup) => verifyDomain(ctx, { id: params.domain, lookup }, config),
    { prepare: (ctx, { params }) => lookUpDomain(ctx, params.domain, config) },
  ),
];
