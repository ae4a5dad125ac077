export interface ByteRange {
  start: number;
  /** Included. */
  end: number;
}

/** The one range that is asked for. Several at once, or what can not be read, count as none, which the RFC allows. */
export function rangeOf(
  headers: Headers,
  { size, etag }: { size: number; etag: string },
): ByteRange | 'unsatisfiable' | null {
  const ifRange = headers.get('if-range');
  if (ifRange !== null && ifRange !== etag) return null;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.get('range') ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
