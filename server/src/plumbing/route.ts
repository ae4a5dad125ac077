import type { Answer, Authority, Endpoint, Parsed, Shape } from '@svc/contract/endpoint.ts';
import type { AppAccess, Ctx, MutationCtx, TenantAccess } from './context.ts';

/** One endpoint of the contract with its shapes and the verb that answers it. */
export interface Route {
  endpoint: Endpoint;
  shape: Shape;
  answer: (ctx: never, input: never) => Promise<unknown>;
  etag: ((answer: never) => string) | undefined;
  beforeReplay: ((ctx: never) => Promise<void>) | undefined;
}

export type RouteInput<S extends Shape> = Parsed<S> & { ifMatch: string | undefined };

/** What a verb may count on follows from what its endpoint declares: a transaction, a tenant with the role checked. */
export type CtxOf<A extends Authority, K extends 'read' | 'mutate'> = (K extends 'mutate'
  ? MutationCtx
  : Ctx) &
  (A extends { role: string } ? { tenant: TenantAccess } : unknown) &
  (A extends { app: string } ? { app: AppAccess } : unknown);

export function route<S extends Shape, A extends Authority, K extends 'read' | 'mutate'>(
  endpoint: Endpoint<S, A, K>,
  shape: S,
  answer: (ctx: CtxOf<A, K>, input: RouteInput<S>) => Promise<Answer<S>>,
  options: {
    etag?: (answer: Answer<S>) => string;
    /** Asked before an answer kept under an `Idempotency-Key` is given again, where a right to it may have ended since. */
    beforeReplay?: (ctx: CtxOf<A, K>) => Promise<void>;
  } = {},
): Route {
  return { endpoint, shape, answer, etag: options.etag, beforeReplay: options.beforeReplay };
}
