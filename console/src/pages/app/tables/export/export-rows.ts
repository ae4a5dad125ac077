import { csvRecord } from '@svc/contract/csv.ts';
import { jsonMembers, type RawRow } from '@svc/contract/json.ts';
import { formatCell, sqlNull } from '../data/cell-value.ts';
import type { ColumnView } from '../use-table.ts';

interface ExportForm {
  format: 'csv' | 'jsonl';
  columns: readonly ColumnView[];
  formulas: Formulas;
}

/** A stream that breaks off produces no file, because a partial file would look complete. */
export async function collectRows(
  stream: ReadableStream<Uint8Array>,
  { format, columns, formulas }: ExportForm,
  onProgress: (rows: number) => void,
): Promise<Blob> {
  const decoder = new TextDecoder();
  const parts: BlobPart[] = format === 'csv' ? [csvHeader(columns)] : [];
  const reader = stream.getReader();
  let rest = '';
  let rows = 0;
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (done ? decoder.decode() : decoder.decode(value, { stream: true }))).split('\n');
    rest = lines.pop() ?? '';
    rows += lines.length;
    if (lines.length > 0) {
      parts.push(
        format === 'csv'
          ? lines.map((line) => csvLine(jsonMembers(line), columns, formulas)).join('')
          : lines.map((line) => `${line}\n`).join(''),
      );
    }
    onProgress(rows);
    if (done) break;
  }
  return new Blob(parts, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' });
}

/** Spreadsheets run texts that start with = + - @ as formulas; `escaped` puts a ' before them. */
type Formulas = 'as_they_are' | 'escaped';

export const csvHeader = (columns: readonly ColumnView[]) => csvRecord(columns.map(({ name }) => name));

/** Null is an empty field, an empty text `""`, JSON its text, so that an import restores the same values. */
export function csvLine(row: RawRow, columns: readonly ColumnView[], formulas: Formulas): string {
  return csvRecord(
    columns.map(({ name, type }) => {
      const json = row.get(name) ?? sqlNull;
      if (json === sqlNull) return null;
      const text = formatCell(type, json);
      return formulas === 'escaped' && isFormula(text) ? `'${text}` : text;
    }),
  );
}

const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$/;
const isFormula = (text: string) => formulaStart.test(text) && !plainNumber.test(text);
