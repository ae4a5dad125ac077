import type { Document } from 'yaml';
import { type ManifestKeys, manifestBytesMax, manifestKeys } from './manifest.ts';
import { type ManifestFault, ManifestFaults } from './manifest-faults.ts';
import { suggest } from './suggest.ts';
import { yamlFault } from './yaml-fault.ts';

export interface ManifestDocument {
  data: Readonly<Record<string, unknown>>;
  unknown: readonly ManifestFault[];
  faultAt(keys: readonly PropertyKey[], code: string, detail: string): ManifestFault;
}

export interface ManifestForm {
  keys?: ManifestKeys;
  bytesMax?: number;
  unknown?: 'reject' | 'report';
}

/** Passed in by the caller, so that the contract does not depend on the library `yaml`. */
export type Yaml = Pick<
  typeof import('yaml'),
  'isAlias' | 'isMap' | 'isScalar' | 'LineCounter' | 'parseDocument'
>;

export function parseManifestDocument(
  yaml: Yaml,
  text: string,
  {
    keys: known = manifestKeys,
    bytesMax = manifestBytesMax,
    unknown: unknownPolicy = 'reject',
  }: ManifestForm = {},
): ManifestDocument {
  if (new TextEncoder().encode(text).length > bytesMax) throw manifestTooLargeError(bytesMax);
  const lines = new yaml.LineCounter();
  const faultAtOffset = (offset: number, keys: readonly PropertyKey[], code: string, detail: string) => {
    const { line, col } = lines.linePos(offset);
    return {
      line: Math.max(line, 1),
      col: Math.max(col, 1),
      field: keys.map(String).join('.'),
      code,
      detail,
    };
  };
  const document = yaml.parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const syntax = [...document.errors, ...document.warnings].map((fault) =>
    faultAtOffset(fault.pos[0], [], 'malformed_yaml', yamlFault(fault)),
  );
  if (syntax.length > 0) throw new ManifestFaults(syntax);
  const { contents } = document;
  if (contents !== null && !yaml.isMap(contents) && !(yaml.isScalar(contents) && contents.value === null)) {
    throw new ManifestFaults([
      faultAtOffset(contents.range?.[0] ?? 0, [], 'invalid_type', 'must contain keys and values'),
    ]);
  }
  const unknown = unknownKeys(yaml, document, { node: contents, known, above: [] }).map(
    ({ offset, keys, detail }) => faultAtOffset(offset, keys, 'unknown_key', detail),
  );
  if (unknown.length > 0 && unknownPolicy === 'reject') throw new ManifestFaults(unknown);
  return {
    unknown,
    data: toData(document, (detail) => new ManifestFaults([faultAtOffset(0, [], 'malformed_yaml', detail)])),
    faultAt: (keys, code, detail) => faultAtOffset(offsetOf(document, keys), keys, code, detail),
  };
}

export function manifestTooLargeError(bytesMax = manifestBytesMax): ManifestFaults {
  const detail = `is larger than ${bytesMax / 1024} KiB`;
  return new ManifestFaults([{ line: 1, col: 1, field: '', code: 'too_big', detail }]);
}

interface UnknownKey {
  offset: number;
  keys: string[];
  detail: string;
}

function unknownKeys(
  yaml: Yaml,
  document: Document,
  { node, known, above }: { node: unknown; known: ManifestKeys; above: string[] },
): UnknownKey[] {
  const map = yaml.isAlias(node) ? node.resolve(document) : node;
  if (!yaml.isMap(map)) return [];
  return map.items.flatMap(({ key, value }) => {
    const name = String(yaml.isScalar(key) ? key.value : key);
    const keys = [...above, name];
    const below = Object.hasOwn(known, name) ? known[name] : undefined;
    if (below === undefined) {
      const near = suggest(name, Object.keys(known));
      const detail = `unknown key ${JSON.stringify(name)}${near === null ? '' : `; did you mean ${JSON.stringify(near)}?`}`;
      return [{ offset: startOf(key), keys, detail }];
    }
    return below === null ? [] : unknownKeys(yaml, document, { node: value, known: below, above: keys });
  });
}

/** Excessive and dangling aliases are detected only here. */
function toData(document: Document, toError: (detail: string) => Error): Record<string, unknown> {
  try {
    return (document.toJS() ?? {}) as Record<string, unknown>;
  } catch (cause) {
    throw toError(yamlFault(cause));
  }
}

function offsetOf(document: Document, keys: readonly PropertyKey[]): number {
  for (let length = keys.length; length > 0; length -= 1) {
    const path = keys.slice(0, length).map((key) => (typeof key === 'symbol' ? String(key) : key));
    const node: unknown = document.getIn(path, true);
    if (node !== undefined) return startOf(node);
  }
  return 0;
}

function startOf(node: unknown): number {
  const range = typeof node === 'object' && node !== null && 'range' in node ? node.range : null;
  return Array.isArray(range) ? Number(range[0]) : 0;
}
