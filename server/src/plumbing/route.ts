import type { Answer, Authority, Endpoint, Parsed, Shape } from '@svc/contract/endpoint.ts';
import type { AppAccess, Ctx, MutationCtx, TenantAccess } from './context.ts';

/** One endpoint of the contract with its shapes and the verb that answers it. */
export interface Route {
  endpoint: Endpoint;
  shape: Shape;
  answer: (ctx: never, input: never, prepared: never) => Promise<unknown>;
  prepare: ((ctx: never, input: never, run: { mode: RunMode }) => Promise<unknown>) | undefined;
  etag: ((answer: never) => string) | undefined;
  beforeReplay: ((ctx: never, input: never) => Promise<void>) | undefined;
}

export type RunMode = 'preview' | 'execute';
export type RouteInput<S extends Shape> = Parsed<S> & { ifMatch: string | undefined };

/** What a verb may count on follows from what its endpoint declares: a transaction, a tenant with the role checked. */
export type CtxOf<A extends Authority, K extends 'read' | 'mutate'> = (K extends 'mutate'
  ? MutationCtx
  : Ctx) &
  (A extends { role: string } ? { tenant: TenantAccess } : unknown) &
  (A extends { app: string } ? { app: AppAccess } : unknown);

export function route<S extends Shape, A extends Authority, K extends 'read' | 'mutate', P = undefined>(
  endpoint: Endpoint<S, A, K>,
  shape: S,
  answer: (ctx: CtxOf<A, K>, input: RouteInput<S>, prepared: P) => Promise<Answer<S>>,
  options: {
    /**
     * Done once it is clear who asks and what, before the transaction of a change begins: for what takes long and
     * changes nothing, such as asking others. A preview does it as well, and is told that it is one: what others keep
     * because they were asked, it does not ask.
     */
    prepare?: (ctx: CtxOf<A, 'read'>, input: RouteInput<S>, run: { mode: RunMode }) => Promise<P>;
    etag?: (answer: Answer<S>) => string;
    /** Asked before an answer kept under an `Idempotency-Key` is given again, where a right to it may have ended since. */
    beforeReplay?: (ctx: CtxOf<A, K>, input: RouteInput<S>) => Promise<void>;
  } = {},
): Route {
  const { prepare, etag, beforeReplay } = options;
  return { endpoint, shape, answer, prepare, etag, beforeReplay };
}
