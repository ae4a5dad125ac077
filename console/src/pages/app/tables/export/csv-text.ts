import { cellText, sqlNull } from '../data/cell-value.ts';
import type { RawRow } from '../data/raw-json.ts';
import type { ColumnView } from '../use-table.ts';

/** `escaped`: spreadsheets take what begins with = + - @ for a formula and run it; a ' before it keeps them from it. */
export type Formulas = 'as_they_are' | 'escaped';

export const csvHead = (columns: readonly ColumnView[]) => `${columns.map(({ name }) => name).join(',')}\r\n`;

/** Null is an empty field, an empty text `""`, JSON its text: an import reads it back as it was. */
export function csvLine(row: RawRow, columns: readonly ColumnView[], formulas: Formulas): string {
  const cells = columns.map(({ name, type }) => {
    const json = row.get(name) ?? sqlNull;
    return json === sqlNull ? '' : csvCell(cellText(type, json), formulas);
  });
  return `${cells.join(',')}\r\n`;
}

const formulaStart = /^[=+\-@\t\r]/;
const plainNumber = /^[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$/;

function csvCell(text: string, formulas: Formulas): string {
  const isFormula = formulas === 'escaped' && formulaStart.test(text) && !plainNumber.test(text);
  const safe = isFormula ? `'${text}` : text;
  return safe === '' || /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
