import { membersOf } from '../data/raw-json.ts';
import type { ColumnView } from '../use-table.ts';
import { csvHead, csvLine, type Formulas } from './csv-text.ts';

export interface ExportForm {
  format: 'csv' | 'jsonl';
  columns: readonly ColumnView[];
  formulas: Formulas;
}

/** A stream of rows as the file that was asked for. A stream that breaks off makes no file: it would look whole. */
export async function collectRows(
  stream: ReadableStream<Uint8Array>,
  { format, columns, formulas }: ExportForm,
  onProgress: (rows: number) => void,
): Promise<Blob> {
  const decoder = new TextDecoder();
  const parts: BlobPart[] = format === 'csv' ? [csvHead(columns)] : [];
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
          ? lines.map((line) => csvLine(membersOf(line), columns, formulas)).join('')
          : lines.map((line) => `${line}\n`).join(''),
      );
    }
    onProgress(rows);
    if (done) break;
  }
  return new Blob(parts, { type: format === 'csv' ? 'text/csv' : 'application/x-ndjson' });
}
