import { type ByteRange, readRange } from '../plumbing/byte-range.ts';

/** The one range that is asked for, if what it is a part of is still what the client has. */
export function rangeOf(
  headers: Headers,
  { size, etag }: { size: number; etag: string },
): ByteRange | 'unsatisfiable' | null {
  const ifRange = headers.get('if-range');
  if (ifRange !== null && ifRange !== etag) return null;
  return readRange(headers.get('range') ?? '', size);
}
