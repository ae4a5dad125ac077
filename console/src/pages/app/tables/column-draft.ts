import {
  brokenCheck,
  type ColumnChecks,
  checkNames,
  checksOf,
  parseChecks,
} from '@svc/contract/column-checks.ts';
import { columnFamilies, type DeleteAction } from '@svc/contract/column-families.ts';
import { parseColumnType } from '@svc/contract/column-spec.ts';
import {
  type ColumnType,
  columnDefaultBytesMax,
  columnTypes,
  describeColumnType,
  idTypes,
  isColumnName,
  namePattern,
  ownerColumnTypes,
  reservedNames,
  tableDescriptionBytesMax,
} from '@svc/contract/columns.ts';
import { parseCell } from './data/cell-value.ts';

export const typeChoices = [...columnTypes, ...familyNames(), 'ref'] as const;
function familyNames() {
  return Object.keys(columnFamilies) as (keyof typeof columnFamilies)[];
}

/** Empty: no check. */
export type ChecksDraft = Record<(typeof checkNames)[number], string>;
export const noChecks: ChecksDraft = { min: '', max: '', min_length: '', max_length: '', pattern: '' };

export interface ColumnDraft extends ChecksDraft {
  key: string;
  name: string;
  /** Type without its brackets, whose content is `args`. */
  type: (typeof typeChoices)[number];
  args: string;
  nullable: boolean;
  hasDefault: boolean;
  default: string;
  /** Used for references only. */
  on_delete: DeleteAction;
}

type ColumnErrors = Partial<
  Record<'name' | 'type' | 'args' | 'nullable' | 'default' | 'on_delete' | keyof ChecksDraft, string>
>;

export const hasArgs = (type: ColumnDraft['type']) => familyNames().some((family) => family === type);
export const isReference = (type: ColumnDraft['type']) => type === 'ref';

export function draftType({
  type,
  args,
}: Pick<ColumnDraft, 'type' | 'args'>): ColumnType | { detail: string } {
  if (isReference(type)) return parseColumnType(`ref:${args}`);
  return parseColumnType(hasArgs(type) ? `${type}(${args})` : type);
}

/** The type for inputs that depend on it: text while the arguments are invalid. */
export function typeOrText(draft: Pick<ColumnDraft, 'type' | 'args'>): ColumnType {
  const type = draftType(draft);
  return typeof type === 'string' ? type : 'text';
}

export function checksDraft(checks: ColumnChecks = {}): ChecksDraft {
  const texts = checkNames.map((name) => [name, String(checks[name] ?? '')]);
  return { ...noChecks, ...Object.fromEntries(texts) };
}

type ChangedChecks = { [Name in keyof ColumnChecks]: ColumnChecks[Name] | null };

/** The checks that fit the type; null where there is none. */
export function draftChecks(type: ColumnType, draft: ChecksDraft): ChangedChecks {
  const named = checksOf(type).map((name) => {
    const text = name === 'pattern' ? draft[name] : draft[name].trim();
    const isLength = name === 'min_length' || name === 'max_length';
    return [name, text === '' ? null : isLength && /^\d+$/.test(text) ? Number(text) : text];
  });
  return Object.fromEntries(named);
}

export function checkErrors(type: ColumnType, draft: ChecksDraft): Partial<ChecksDraft> {
  const parsed = parseChecks(type, draftChecks(type, draft));
  return parsed.ok ? {} : { [parsed.check]: parsed.detail };
}

let drafts = 0;
export const newDraft = (type: ColumnDraft['type'] = 'text'): ColumnDraft => ({
  ...noChecks,
  key: `draft-${++drafts}`,
  name: '',
  type,
  args: '',
  nullable: false,
  hasDefault: false,
  default: '',
  on_delete: 'restrict',
});

export function columnSpec(draft: ColumnDraft) {
  const { name, nullable, hasDefault, default: text, on_delete } = draft;
  const type = typeOrText(draft);
  if (isReference(draft.type)) return { name, type, nullable, default: null, on_delete };
  const parsed = parseChecks(type, draftChecks(type, draft));
  const hasChecks = parsed.ok && Object.keys(parsed.checks).length > 0;
  return {
    name,
    type,
    nullable,
    default: hasDefault ? text : null,
    ...(hasChecks && { checks: parsed.checks }),
  };
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
  const type = draftType(draft);
  if (typeof type !== 'string') return { ...faults, args: type.detail };
  if (isReference(draft.type)) {
    if (draft.on_delete === 'set_null' && !draft.nullable)
      faults.on_delete = 'set null needs a nullable column';
    return faults;
  }
  if (type === 'autonumber' && draft.nullable) faults.nullable = 'an autonumber cannot be null';
  Object.assign(faults, checkErrors(type, draft));
  const wrong = draft.hasDefault ? defaultError({ ...draft, type, checks: draft }) : undefined;
  if (wrong) faults.default = wrong;
  return faults;
}

export function defaultError({
  name,
  type,
  default: text,
  checks,
}: {
  name: string;
  type: ColumnType;
  default: string;
  checks: ChecksDraft;
}): string | undefined {
  if (type === 'autonumber') return 'is not possible: the service assigns the numbers';
  if (describeColumnType(type).defaultFunction === text) return undefined;
  if (name === 'id') return 'must be gen_random_uuid() for an id';
  if (new TextEncoder().encode(text).length > columnDefaultBytesMax) {
    return `must be at most ${columnDefaultBytesMax} bytes`;
  }
  const written = parseCell(type, text);
  if (!written.ok) return written.detail;
  const parsed = parseChecks(type, draftChecks(type, checks));
  const value = describeColumnType(type).parse(type === 'text' ? text : text.trim());
  const broken = parsed.ok && value.ok ? brokenCheck(type, parsed.checks, value.value) : null;
  if (broken) return broken.detail;
  return type === 'jsonb' && text.trim() === 'null'
    ? 'must not be null; remove the default instead'
    : undefined;
}

export const canOwnRows = ({ name, type }: { name: string; type: ColumnDraft['type'] }) =>
  name !== 'id' && ownerColumnTypes.some((each) => each === type);
