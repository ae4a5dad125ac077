import type { BlobEncoding } from '../../delivery/static-sites/blobs.ts';

/** Best first, always ending with `identity`. */
export type EncodingOrder = readonly BlobEncoding[];

const asIs: EncodingOrder = ['identity'];
const ours = ['br', 'gzip', 'identity'] as const;
const cachedMax = 200;
const cached = new Map<string, EncodingOrder>();

/** By the quality values of Accept-Encoding (RFC 9110, 12.5.3), then by size. */
export function encodingOrder(acceptEncoding: string | null): EncodingOrder {
  if (acceptEncoding === null) return asIs;
  const known = cached.get(acceptEncoding);
  if (known) return known;
  const order = readOrder(acceptEncoding);
  if (cached.size < cachedMax) cached.set(acceptEncoding, order);
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
  // `identity` is acceptable unless excluded, and never preferred.
  const worthOf = (name: BlobEncoding) => worth.get(name) ?? (name === 'identity' ? rest || 0.0001 : rest);
  const identity = worthOf('identity');
  const better = ours.filter((name) => name !== 'identity' && worthOf(name) > 0 && worthOf(name) >= identity);
  return [...better.sort((a, b) => worthOf(b) - worthOf(a)), 'identity'];
}
