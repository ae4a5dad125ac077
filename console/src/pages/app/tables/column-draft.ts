import {
  type ColumnType,
  columnDefaultBytesMax,
  idTypes,
  isColumnName,
  namePattern,
  ownerColumnTypes,
} from '@svc/contract/columns.ts';
import { writtenValue } from './data/cell-value.ts';

/** A column as a form holds it. */
export interface ColumnDraft {
  /** Of the form, not of the column. */
  key: string;
  name: string;
  type: ColumnType;
  nullable: boolean;
  hasDefault: boolean;
  default: string;
}

export type DraftFaults = Partial<Record<'name' | 'type' | 'nullable' | 'default', string>>;

let drafts = 0;
export const newDraft = (type: ColumnType = 'text'): ColumnDraft => ({
  key: `draft-${++drafts}`,
  name: '',
  type,
  nullable: false,
  hasDefault: false,
  default: '',
});

/** As the contract takes it. */
export function columnOf({ name, type, nullable, hasDefault, default: text }: ColumnDraft) {
  return { name, type, nullable, default: hasDefault ? text : null };
}

const namesExpected = 'is 1 to 63 of a-z, 0-9 and _, and begins with a letter';

export function nameFault(name: string): string | undefined {
  if (!namePattern.test(name)) return namesExpected;
  return isColumnName(name) ? undefined : `${name} is a word of queries and can not be a name`;
}

/** The checks of the server, before it is asked. `others`: names that are taken. */
export function draftFaults(draft: ColumnDraft, others: readonly string[]): DraftFaults {
  const faults: DraftFaults = {};
  const name = nameFault(draft.name);
  if (name) faults.name = name;
  else if (others.includes(draft.name)) faults.name = `there is a column ${draft.name} already`;
  if (draft.name === 'id') {
    if (!idTypes.some((type) => type === draft.type))
      faults.type = `of an id is one of ${idTypes.join(', ')}`;
    if (draft.nullable) faults.nullable = 'an id is never null';
  }
  const wrong = draft.hasDefault ? defaultFault(draft) : undefined;
  if (wrong) faults.default = wrong;
  return faults;
}

/** What takes the place of a literal, and for which type. */
export const defaultFunctions: Partial<Record<ColumnType, string>> = {
  timestamptz: 'now()',
  uuid: 'gen_random_uuid()',
};

export function defaultFault({
  name,
  type,
  default: text,
}: Pick<ColumnDraft, 'name' | 'type' | 'default'>): string | undefined {
  if (defaultFunctions[type] === text) return undefined;
  if (name === 'id') return 'of an id can only be gen_random_uuid()';
  if (new TextEncoder().encode(text).length > columnDefaultBytesMax) {
    return `is at most ${columnDefaultBytesMax} bytes`;
  }
  const written = writtenValue(type, text);
  if (!written.ok) return written.detail;
  return type === 'jsonb' && text.trim() === 'null' ? 'must not be null; leave the default out' : undefined;
}

export const canOwnRows = ({ name, type }: { name: string; type: ColumnType }) =>
  name !== 'id' && ownerColumnTypes.some((each) => each === type);
