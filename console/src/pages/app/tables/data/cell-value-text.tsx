import type { ColumnType } from '@svc/contract/columns.ts';
import { cellText, sqlNull } from './cell-value.ts';

const shownMax = 200;

/** A value in few words: null and the empty text can be told apart. */
export function CellValueText({ type, value }: { type: ColumnType; value: string }) {
  if (value === sqlNull) return <em className="grid-nothing">null</em>;
  const text = cellText(type, value);
  if (text === '') return <em className="grid-nothing">empty text</em>;
  return <>{text.length > shownMax ? `${text.slice(0, shownMax)}…` : text}</>;
}
