import type { Answer, Authority, Endpoint, Parsed, Shape } from '@svc/contract/endpoint.ts';
import type { AppAccess, Ctx, MutationCtx, TenantAccess } from '../core/context.ts';

export interface Route {
  endpoint: Endpoint;
  shape: Shape;
  handler: (ctx: never, input: never, prepared: never) => Promise<unknown>;
  prepare?: (ctx: never, input: never, run: { mode: RunMode }) => Promise<unknown>;
  etag?: (answer: never) => string;
  beforeReplay?: (ctx: never, input: never) => Promise<void>;
}

export type RunMode = 'preview' | 'execute';
type RouteInput<S extends Shape> = Parsed<S> & { ifMatch: string | undefined };

type RouteCtx<A extends Authority, K extends 'read' | 'mutate'> = (K extends 'mutate' ? MutationCtx : Ctx) &
  (A extends { role: string } ? { tenant: TenantAccess } : unknown) &
  (A extends { app: string } ? { app: AppAccess } : unknown);

export function route<S extends Shape, A extends Authority, K extends 'read' | 'mutate', P = undefined>(
  endpoint: Endpoint<S, A, K>,
  shape: S,
  answer: (ctx: RouteCtx<A, K>, input: RouteInput<S>, prepared: P) => Promise<Answer<S>>,
  options: {
    /** For slow work without changes, such as calls to other systems. Also runs for a preview. */
    prepare?: (ctx: RouteCtx<A, 'read'>, input: RouteInput<S>, run: { mode: RunMode }) => Promise<P>;
    etag?: (answer: Answer<S>) => string;
    /** Runs before a stored response is replayed; throws where the caller has lost the right to it. */
    beforeReplay?: (ctx: RouteCtx<A, K>, input: RouteInput<S>) => Promise<void>;
  } = {},
): Route {
  return { endpoint, shape, handler: answer, ...options };
}

type Handler<E, S> =
  E extends Endpoint<Shape, infer A, infer K>
    ? S extends Shape
      ? (ctx: RouteCtx<A, K>, input: RouteInput<S>) => Promise<Answer<S>>
      : never
    : never;

export function routes<E extends object, S extends object>(
  endpoints: E,
  shapes: S,
  handlers: { [N in keyof E & keyof S]?: Handler<E[N], S[N]> },
  options: Pick<Route, 'etag'> = {},
): Route[] {
  return Object.entries(handlers).map(([name, handler]) => ({
    endpoint: endpoints[name as keyof E] as Endpoint,
    shape: shapes[name as keyof S] as Shape,
    handler: handler as Route['handler'],
    ...options,
  }));
}

type RouteMatch<T> =
  | { kind: 'found'; target: T; params: Record<string, string> }
  | { kind: 'wrong_method'; allowed: string[] }
  | { kind: 'none' }
  | { kind: 'malformed' };

interface Node<T> {
  literal: Map<string, Node<T>>;
  parameter: { name: string; node: Node<T> } | null;
  methods: Map<string, T>;
}

export function createRouter<T>(routes: readonly { method: string; path: string; target: T }[]) {
  const root = emptyNode<T>();
  for (const { method, path, target } of routes) {
    let node = root;
    for (const segment of pathSegments(path)) node = childNode(node, segment, path);
    if (node.methods.has(method)) throw new Error(`Duplicate route: ${method} ${path}.`);
    node.methods.set(method, target);
  }
  return { find: (method: string, path: string) => find(root, method, path) };
}

function find<T>(root: Node<T>, method: string, path: string): RouteMatch<T> {
  const params: Record<string, string> = {};
  let node = root;
  for (const raw of pathSegments(path)) {
    const segment = decode(raw);
    if (segment === null) return { kind: 'malformed' };
    // A literal segment wins over a parameter: `/grants/mine` is not the grant "mine".
    const literal = node.literal.get(segment);
    if (literal) node = literal;
    else if (node.parameter && segment !== '') {
      params[node.parameter.name] = segment;
      node = node.parameter.node;
    } else return { kind: 'none' };
  }
  const target = node.methods.get(method);
  if (target !== undefined) return { kind: 'found', target, params };
  return node.methods.size > 0
    ? { kind: 'wrong_method', allowed: [...node.methods.keys()] }
    : { kind: 'none' };
}

function childNode<T>(node: Node<T>, segment: string, path: string): Node<T> {
  const name = /^\{(\w+)\}$/.exec(segment)?.[1];
  if (name === undefined) {
    const child = node.literal.get(segment) ?? emptyNode<T>();
    node.literal.set(segment, child);
    return child;
  }
  node.parameter ??= { name, node: emptyNode() };
  if (node.parameter.name !== name)
    throw new Error(`${path}: parameter {${name}} has the name {${node.parameter.name}} in another route.`);
  return node.parameter.node;
}

function pathSegments(path: string): string[] {
  return path.split('/').slice(1);
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

function emptyNode<T>(): Node<T> {
  return { literal: new Map(), parameter: null, methods: new Map() };
}
