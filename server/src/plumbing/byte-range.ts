export interface ByteRange {
  start: number;
  /** Included. */
  end: number;
}

/** The one range that is asked for. Several at once, other units and what can not be read count as none (RFC 9110, 14.2). */
export function readRange(range: string, size: number): ByteRange | 'unsatisfiable' | null {
  const [, first = '', last = ''] = /^bytes[\t ]*=[\t ]*(\d{0,15})-(\d{0,15})[\t ]*$/i.exec(range) ?? [];
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
