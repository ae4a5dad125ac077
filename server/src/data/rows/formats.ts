import { csvRecord } from '@svc/contract/csv.ts';
import { csvMediaType, jsonLinesMediaType, noteHeader } from '@svc/contract/rows.ts';
import type { FastPathRequest } from '../../http/handlers.ts';
import { JsonRows, type RowShape } from './json-rows.ts';
import type { ParsedQuery } from './parse-query.ts';
import type { Output } from './row-table.ts';

export type RowFormat = 'json' | 'jsonl' | 'csv';
export type PageFormat = Exclude<RowFormat, 'jsonl'>;

/** The format with the highest weight in `Accept`; JSON only if no other has the same. */
export function preferredFormat(request: FastPathRequest): RowFormat {
  const accept = request.headers.get('accept');
  if (accept === null || !(accept.includes(jsonLinesMediaType) || accept.includes(csvMediaType)))
    return 'json';
  const weights = new Map(
    accept.split(',').map((item) => {
      const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [type, weight === undefined ? 1 : Number(weight.slice(2))] as const;
    }),
  );
  const [lines, csv, json] = [jsonLinesMediaType, csvMediaType, 'application/json'].map(
    (type) => weights.get(type) ?? 0,
  ) as [number, number, number];
  if (lines > 0 && lines >= Math.max(json, csv)) return 'jsonl';
  return csv > 0 && csv >= json ? 'csv' : 'json';
}

/** CSV without a page is an export. */
export const hasPaging = (search: string) => /(?:^|&)(?:page|per_page|cursor)=/.test(search);

export const csvHeaders = { 'content-type': `${csvMediaType}; charset=utf-8; header=present` };

export const csvHeader = ({ columns }: Output) => csvRecord(columns.map(({ key }) => key));

/** What may be a mistake, in ASCII: column names of other databases may have any character. */
export function noteHeaders({ notes }: ParsedQuery): Record<string, string> | undefined {
  if (notes.length === 0) return undefined;
  const text = notes.slice(0, notesMax).join(' ');
  return { [noteHeader]: text.replace(/[^\x20-\x7e]/g, encodeURIComponent) };
}

const notesMax = 5;

/** Rows in the CSV of imports: null is an empty field, an empty text `""`, and JSON its text. */
export class CsvRows extends JsonRows {
  override row({ kinds }: RowShape, row: Buffer, start: number): number {
    let at = start + 2;
    const fields = kinds.map((kind) => {
      const length = row.readInt32BE(at);
      at += 4;
      if (length < 0) return null;
      const text = row.toString('utf8', at, at + length);
      at += length;
      if (kind === 'boolean') return text === 't' || text === '1' ? 'true' : 'false';
      // `2026-01-02 03:04:05.6+00`: sessions use UTC.
      if (kind === 'timestamp' && text[10] === ' ') return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`;
      return text;
    });
    this.text(csvRecord(fields));
    return at;
  }
}
