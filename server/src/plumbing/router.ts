/** Finds what belongs to a method and a path; tells "no such path" from "not this method". */
export interface Router<T> {
  find(method: string, path: string): Found<T>;
}

export type Found<T> =
  | { kind: 'found'; target: T; params: Record<string, string> }
  | { kind: 'wrong_method'; allowed: string[] }
  | { kind: 'none' }
  | { kind: 'malformed' };

interface Node<T> {
  literal: Map<string, Node<T>>;
  parameter: { name: string; node: Node<T> } | null;
  methods: Map<string, T>;
}

export function createRouter<T>(routes: readonly { method: string; path: string; target: T }[]): Router<T> {
  const root = emptyNode<T>();
  for (const { method, path, target } of routes) {
    let node = root;
    for (const segment of segmentsOf(path)) node = childFor(node, segment, path);
    if (node.methods.has(method)) throw new Error(`${method} ${path} is routed twice.`);
    node.methods.set(method, target);
  }
  return { find: (method, path) => find(root, method, path) };
}

function find<T>(root: Node<T>, method: string, path: string): Found<T> {
  const params: Record<string, string> = {};
  let node = root;
  for (const raw of segmentsOf(path)) {
    const segment = decode(raw);
    if (segment === null) return { kind: 'malformed' };
    // A literal wins over a parameter: `/grants/mine` is never the grant "mine".
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

function childFor<T>(node: Node<T>, segment: string, path: string): Node<T> {
  const name = /^\{(\w+)\}$/.exec(segment)?.[1];
  if (name === undefined) {
    const child = node.literal.get(segment) ?? emptyNode<T>();
    node.literal.set(segment, child);
    return child;
  }
  node.parameter ??= { name, node: emptyNode() };
  if (node.parameter.name !== name)
    throw new Error(`${path}: {${name}} is called {${node.parameter.name}} elsewhere.`);
  return node.parameter.node;
}

function segmentsOf(path: string): string[] {
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
