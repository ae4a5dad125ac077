/** RFC 4180. A field that is empty and not quoted is null; `""` is an empty text. */
export type CsvField = string | null;

/** The fields of one record without its line end, or what is wrong with it. */
export function parseCsvRecord(text: string): CsvField[] | string {
  const fields: CsvField[] = [];
  for (let at = 0; ; ) {
    if (text[at] === '"') {
      const end = endOfQuoted(text, at);
      if (end === -1) return 'a quote is opened and never closed';
      if (end < text.length && text[end] !== ',')
        return 'something stands between a closing quote and the comma';
      fields.push(text.slice(at + 1, end - 1).replaceAll('""', '"'));
      at = end;
    } else {
      const comma = text.indexOf(',', at);
      const end = comma === -1 ? text.length : comma;
      const field = text.slice(at, end);
      if (field.includes('"')) return 'a quote stands inside a field that does not begin with one';
      fields.push(field === '' ? null : field);
      at = end;
    }
    if (at >= text.length) return fields;
    at += 1;
  }
}

/** One record with its line end. */
export function csvRecord(fields: readonly CsvField[]): string {
  // A line with nothing on it would be taken for no record at all.
  if (fields.length === 1 && fields[0] === null) return '\r\n';
  return `${fields.map(csvField).join(',')}\r\n`;
}

function csvField(field: CsvField): string {
  if (field === null) return '';
  return field === '' || /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/** The place behind the closing quote, or -1. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at === -1) return -1;
    if (text[at + 1] !== '"') return at + 1;
  }
}
