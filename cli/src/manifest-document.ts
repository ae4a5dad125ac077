import { type ManifestKeys, manifestBytesMax, manifestKeys } from '@svc/contract/manifest.ts';
import { type Document, isAlias, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { type ManifestFault, manifestError } from './manifest-error.ts';
import { readFileText } from './read-file-text.ts';
import { suggest } from './suggest.ts';
import { yamlFault } from './yaml-fault.ts';

/** A `svc.yaml` that is YAML and has no key that is not known; its values are as they were written. */
export interface ManifestDocument {
  data: Readonly<Record<string, unknown>>;
  /** Faults of unknown keys, where they are not refused at once. */
  unknown: readonly ManifestFault[];
  /** A fault of the value at some keys, with its place in the file. */
  faultAt(keys: readonly PropertyKey[], code: string, detail: string): ManifestFault;
}

/** `shown` is how messages name the file. */
export async function readManifestDocument(path: string, shown = path): Promise<ManifestDocument> {
  const text = await readFileText(path, { bytesMax: manifestBytesMax, shown, tooLarge });
  return parseManifestDocument(text, shown);
}

/** What may stand in the file, where it is not the whole of a `svc.yaml`. */
export interface ManifestForm {
  keys?: ManifestKeys;
  bytesMax?: number;
  /** `told`: for whoever has more faults to tell together with them. */
  unknown?: 'refused' | 'told';
}

export function parseManifestDocument(
  text: string,
  shown: string,
  { keys: known = manifestKeys, bytesMax = manifestBytesMax, unknown: wanted = 'refused' }: ManifestForm = {},
): ManifestDocument {
  if (Buffer.byteLength(text) > bytesMax) throw tooLarge(shown, bytesMax);
  const lines = new LineCounter();
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
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const syntax = [...document.errors, ...document.warnings].map((fault) =>
    faultAtOffset(fault.pos[0], [], 'malformed_yaml', yamlFault(fault)),
  );
  if (syntax.length > 0) throw manifestError(shown, syntax);
  const { contents } = document;
  if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null)) {
    throw manifestError(shown, [
      faultAtOffset(contents.range?.[0] ?? 0, [], 'invalid_type', 'must hold keys and values'),
    ]);
  }
  const unknown = unknownKeys(document, contents, known, []).map(({ offset, keys, detail }) =>
    faultAtOffset(offset, keys, 'unknown_key', detail),
  );
  if (unknown.length > 0 && wanted === 'refused') throw manifestError(shown, unknown);
  return {
    unknown,
    data: toData(document, (detail) =>
      manifestError(shown, [faultAtOffset(0, [], 'malformed_yaml', detail)]),
    ),
    faultAt: (keys, code, detail) => faultAtOffset(offsetOf(document, keys), keys, code, detail),
  };
}

function tooLarge(shown: string, bytesMax = manifestBytesMax): Error {
  const detail = `is larger than ${bytesMax / 1024} KiB`;
  return manifestError(shown, [{ line: 1, col: 1, field: '', code: 'too_big', detail }]);
}

interface UnknownKey {
  offset: number;
  keys: string[];
  detail: string;
}

function unknownKeys(document: Document, node: unknown, known: ManifestKeys, above: string[]): UnknownKey[] {
  const map = isAlias(node) ? node.resolve(document) : node;
  if (!isMap(map)) return [];
  return map.items.flatMap(({ key, value }) => {
    const name = String(isScalar(key) ? key.value : key);
    const keys = [...above, name];
    const below = Object.hasOwn(known, name) ? known[name] : undefined;
    if (below === undefined) {
      const near = suggest(name, Object.keys(known));
      const detail = `unknown key ${JSON.stringify(name)}${near === null ? '' : `; did you mean ${JSON.stringify(near)}?`}`;
      return [{ offset: startOf(key), keys, detail }];
    }
    return below === null ? [] : unknownKeys(document, value, below, keys);
  });
}

/** Too many aliases, and those of nothing, are only found out here. */
function toData(document: Document, refused: (detail: string) => Error): Record<string, unknown> {
  try {
    return (document.toJS() ?? {}) as Record<string, unknown>;
  } catch (cause) {
    throw refused(yamlFault(cause));
  }
}

/** Where the value at some keys begins; of one that is not there, where what should hold it begins. */
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
