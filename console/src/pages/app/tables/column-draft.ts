import {
  type ColumnType,
  columnDefaultBytesMax,
  describeColumnType,
  idTypes,
  isColumnName,
  namePattern,
  ownerColumnTypes,
  reservedNames,
  tableDescriptionBytesMax,
} from '@svc/contract/columns.ts';
import { parseCell } from './data/cell-value.ts';

export interface ColumnDraft {
  key: string;
  name: string;
  type: ColumnType;
  nullable: boolean;
  hasDefault: boolean;
  default: string;
}

type ColumnErrors = Partial<Record<'name' | 'type' | 'nullable' | 'default', string>>;

let drafts = 0;
export const newDraft = (type: ColumnType = 'text'): ColumnDraft => ({
  key: `draft-${++drafts}`,
  name: '',
  type,
  nullable: false,
  hasDefault: false,
  default: '',
});

export function columnSpec({ name, type, nullable, hasDefault, default: text }: ColumnDraft) {
  return { name, type, nullable, default: hasDefault ? text : null };
}

export function tableNameError(name: string): string | undefined {
  return reservedNames.includes(name) ? 'is a reserved word and cannot be a name' : nameError(name);
}

export function descriptionError(description: string): string | undefined {
  const bytes = new TextEncoder().encode(description).length;
  return bytes > tableDescriptionBytesMax
    ? `is ${bytes} bytes, at most ${tableDescriptionBytesMax} are allowed`
    : undefined;
}

export function nameError(name: string): string | undefined {
  if (!namePattern.test(name)) return 'must be 1 to 63 of a-z, 0-9 and _, starting with a letter';
  return isColumnName(name) ? undefined : `${name} is a reserved word and cannot be a name`;
}

export function columnErrors(draft: ColumnDraft, others: readonly string[]): ColumnErrors {
  const faults: ColumnErrors = {};
  const name = nameError(draft.name);
  if (name) faults.name = name;
  else if (others.includes(draft.name)) faults.name = `a column ${draft.name} already exists`;
  if (draft.name === 'id') {
    if (!idTypes.some((type) => type === draft.type))
      faults.type = `must be one of ${idTypes.join(', ')} for an id`;
    if (draft.nullable) faults.nullable = 'an id cannot be null';
  }
  const wrong = draft.hasDefault ? defaultError(draft) : undefined;
  if (wrong) faults.default = wrong;
  return faults;
}

export function defaultError({
  name,
  type,
  default: text,
}: Pick<ColumnDraft, 'name' | 'type' | 'default'>): string | undefined {
  if (describeColumnType(type).defaultFunction === text) return undefined;
  if (name === 'id') return 'must be gen_random_uuid() for an id';
  if (new TextEncoder().encode(text).length > columnDefaultBytesMax) {
    return `must be at most ${columnDefaultBytesMax} bytes`;
  }
  const written = parseCell(type, text);
  if (!written.ok) return written.detail;
  return type === 'jsonb' && text.trim() === 'null'
    ? 'must not be null; remove the default instead'
    : undefined;
}

export const canOwnRows = ({ name, type }: { name: string; type: ColumnType }) =>
  name !== 'id' && ownerColumnTypes.some((each) => each === type);
