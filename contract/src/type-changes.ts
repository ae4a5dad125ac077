import { decimalDigits, enumValues } from './column-families.ts';
import type { ColumnType } from './columns.ts';
import { isFileType } from './file-type.ts';

/** Why a column cannot get the other type without a value being lost; null if it can. */
export function typeChangeProblem(from: ColumnType, to: ColumnType): string | null {
  if (from === to || isLossless(from, to)) return null;
  const decimal = decimalDigits(to);
  const whole = wholeDigits(from);
  if (decimal && whole !== null && decimal.digits - decimal.scale < whole)
    return `values of ${from} have up to ${whole} digits before the point, ${to} has ${decimal.digits - decimal.scale}`;
  const before = decimalDigits(from);
  if (decimal && before && decimal.scale < before.scale)
    return `values of ${from} have ${before.scale} digits after the point, ${to} has ${decimal.scale}`;
  return `values of ${from} cannot become ${to} without loss; add a column of the new type, fill it and drop this one`;
}

/** Between texts and enums the rows decide: their values must be among those of the new type. */
function isLossless(from: ColumnType, to: ColumnType): boolean {
  const isText = from === 'text' || enumValues(from) !== null;
  if (isText && (to === 'text' || enumValues(to) !== null)) return true;
  // Limits are for uploads to come.
  if (isFileType(from) && isFileType(to)) return true;
  if (to === 'text') return textForms.includes(from) || decimalDigits(from) !== null;
  if (to === 'text[]') return from === 'int[]';
  if (to === 'float') return from === 'int';
  const whole = wholeDigits(from);
  if (whole === null) return false;
  const before = decimalDigits(from);
  const after = decimalDigits(to);
  if (after) return after.digits - after.scale >= whole && after.scale >= (before?.scale ?? 0);
  if (to === 'bigint') return from === 'int' || from === 'autonumber' || (before?.scale === 0 && whole <= 18);
  return to === 'int' && before?.scale === 0 && whole <= 9;
}

/** Types whose text in PostgreSQL is the one in answers. */
const textForms: readonly ColumnType[] = ['int', 'bigint', 'autonumber', 'float', 'bool', 'date', 'uuid'];

function wholeDigits(type: ColumnType): number | null {
  if (type === 'int') return 10;
  if (type === 'bigint' || type === 'autonumber') return 19;
  const decimal = decimalDigits(type);
  return decimal && decimal.digits - decimal.scale;
}

/** Whether the values are stored alike, so that only what they are checked for changes. */
export function isStoredAlike(from: ColumnType, to: ColumnType): boolean {
  const isText = (type: ColumnType) => type === 'text' || enumValues(type) !== null;
  return from === to || (isText(from) && isText(to)) || (isFileType(from) && isFileType(to));
}
