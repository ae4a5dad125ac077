import * as shapes from '@svc/contract/domains.shapes.ts';
import * as endpoints from '@svc/contract/domains.ts';
import { type Route, route } from '../plumbing/route.ts';
import { addDomain } from './add-domain.ts';
import type { DomainsPlace } from './domains-place.ts';
import { getDomain } from './get-domain.ts';
import { listDomains } from './list-domains.ts';
import { removeDomain } from './remove-domain.ts';
import { type Looked, lookUpDomain, verifyDomain } from './verify-domain.ts';

export const domainRoutes = (place: DomainsPlace): Route[] => [
  route(endpoints.listDomains, shapes.listDomains, (ctx, { query }) => listDomains(ctx, query, place)),
  route(
    endpoints.addDomain,
    shapes.addDomain,
    (ctx, { body }, addresses: readonly string[]) => addDomain(ctx, body, place, addresses),
    { prepare: () => place.addresses() },
  ),
  route(endpoints.getDomain, shapes.getDomain, (ctx, { params }) =>
    getDomain(ctx, { id: params.domain }, place),
  ),
  route(endpoints.removeDomain, shapes.removeDomain, (ctx, { params }) =>
    removeDomain(ctx, { id: params.domain }),
  ),
  route(
    endpoints.verifyDomain,
    shapes.verifyDomain,
    (ctx, { params }, looked: Looked) => verifyDomain(ctx, { id: params.domain, looked }, place),
    { prepare: (ctx, { params }) => lookUpDomain(ctx, { id: params.domain }, place) },
  ),
];
