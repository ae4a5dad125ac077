import type { Answer, Endpoint, Parsed, Shape } from '@svc/contract/endpoint.ts';
import type { Ctx, MutationCtx, TenantCtx, TenantMutationCtx } from './context.ts';

/** One endpoint of the contract with its shapes and the verb that answers it. */
export interface Route {
  endpoint: Endpoint;
  shape: Shape;
  answer: (ctx: never, input: never) => Promise<unknown>;
  etag: ((answer: never) => string) | undefined;
}

export type RouteInput<S extends Shape> = Parsed<S> & { ifMatch: string | undefined };

/** A read below a tenant. */
export function tenantRead<S extends Shape>(
  endpoint: Endpoint<S>,
  shape: S,
  answer: (ctx: TenantCtx, input: RouteInput<S>) => Promise<Answer<S>>,
  options: RouteOptions<S> = {},
): Route {
  return { endpoint, shape, answer, etag: options.etag };
}

/** A change below a tenant, run as one mutation. */
export function tenantChange<S extends Shape>(
  endpoint: Endpoint<S>,
  shape: S,
  answer: (ctx: TenantMutationCtx, input: RouteInput<S>) => Promise<Answer<S>>,
  options: RouteOptions<S> = {},
): Route {
  return { endpoint, shape, answer, etag: options.etag };
}

/** A read about the caller, in no tenant. */
export function ownRead<S extends Shape>(
  endpoint: Endpoint<S>,
  shape: S,
  answer: (ctx: Ctx, input: RouteInput<S>) => Promise<Answer<S>>,
): Route {
  return { endpoint, shape, answer, etag: undefined };
}

/** A change of something of the caller's own, in no tenant. */
export function ownChange<S extends Shape>(
  endpoint: Endpoint<S>,
  shape: S,
  answer: (ctx: MutationCtx, input: RouteInput<S>) => Promise<Answer<S>>,
): Route {
  return { endpoint, shape, answer, etag: undefined };
}

interface RouteOptions<S extends Shape> {
  etag?: (answer: Answer<S>) => string;
}
