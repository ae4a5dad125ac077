import type { BlobEncoding } from '../static-sites/blob-key.ts';

/** The best first; the last is always `identity`, which is sent to whoever takes nothing else that there is. */
export type EncodingOrder = readonly BlobEncoding[];

const asIs: EncodingOrder = ['identity'];
const ours = ['br', 'gzip', 'identity'] as const;
/** Browsers send a handful of different ones. */
const keptMax = 200;
const kept = new Map<string, EncodingOrder>();

/** By what Accept-Encoding says each form is worth (RFC 9110, 12.5.3); of those worth the same, the smaller. */
export function encodingOrder(acceptEncoding: string | null): EncodingOrder {
  if (acceptEncoding === null) return asIs;
  const known = kept.get(acceptEncoding);
  if (known) return known;
  const order = readOrder(acceptEncoding);
  if (kept.size < keptMax) kept.set(acceptEncoding, order);
  return order;
}

function readOrder(header: string): EncodingOrder {
  const worth = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [, name, q = '1'] =
      /^\s*([!#$%&'*+.^_`|~0-9a-z-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/.exec(part) ?? [];
    if (name !== undefined) worth.set(name === 'x-gzip' ? 'gzip' : name, Math.min(Number(q), 1));
  }
  const rest = worth.get('*') ?? 0;
  // As it is, it is taken by everybody who does not say otherwise, and preferred by nobody.
  const worthOf = (name: BlobEncoding) => worth.get(name) ?? (name === 'identity' ? rest || 0.0001 : rest);
  const identity = worthOf('identity');
  const better = ours.filter((name) => name !== 'identity' && worthOf(name) > 0 && worthOf(name) >= identity);
  return [...better.sort((a, b) => worthOf(b) - worthOf(a)), 'identity'];
}
