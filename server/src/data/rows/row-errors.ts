import { checkNames, checkText } from '@svc/contract/column-checks.ts';
import { describeColumnType } from '@svc/contract/columns.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { sqlState } from '../../core/db.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { RowTooLarge } from '../../drivers/row-database/messages.ts';
import { physicalTableName } from '../tables/catalogue.ts';
import type { Output, RowTable } from './row-table.ts';

export function rowError(cause: unknown, table: RowTable, line?: number): Failure | null {
  if (cause instanceof RowTooLarge) return largeRowError(cause, null);
  const code = errorCode(cause);
  if (code === null) return null;
  if (code === '23505') {
    const columns = conflictColumns(cause, table);
    const suffix = columns.length === 0 ? '' : ` for ${columns.join(', ')}`;
    const item = { line, code: 'unique_violation', detail: 'already exists' };
    const errors = columns.length === 0 ? [item] : columns.map((column) => ({ ...item, column }));
    const detail = `A row with this value${suffix} already exists.`;
    return fail('unique_violation', { detail, errors }, { cause });
  }
  if (code === '23514') return checkError(cause, table, line);
  if (code === '23503' || code === '23001') return referenceError(cause, table, line);
  // Two lines of a batch address one row with different texts, such as one instant with two offsets, or 0 and -0.
  if (code === '21000') {
    const detail = 'addresses the same row as another line';
    const errors = [{ line, code: 'duplicate_in_batch', detail }];
    return fail('validation_failed', { detail: `A line ${detail}.`, errors }, { cause });
  }
  // Valid values that PostgreSQL cannot store: a JSON number out of range, a text too long for its index, a row too wide
  // for a page.
  if (/^22/.test(code) || code === '54000' || code === '54001') {
    const detail = code === '54000' ? 'is too large for the database or for an index' : 'cannot be stored';
    const errors = [{ line, code: 'invalid_value', detail }];
    return fail('validation_failed', { detail: `A value ${detail}.`, errors }, { cause });
  }
  return null;
}

/** For statements whose columns are those of the output, then others that the caller did not select. */
export function withColumnName(error: unknown, { columns }: Output): unknown {
  return error instanceof RowTooLarge
    ? largeRowError(error, columns[error.value.at]?.column.name ?? null)
    : error;
}

function largeRowError(cause: RowTooLarge, column: string | null): Failure {
  const { value, rowBytesMax } = cause;
  const of = column === null || column === '' ? 'A value' : `The column ${column}`;
  return fail(
    'payload_too_large',
    {
      detail: `A row is too large to be read: it may have at most ${rowBytesMax} bytes. ${of} has ${value.bytes}. Select other columns.`,
      ...(column && {
        errors: [{ column, code: 'payload_too_large', detail: `has ${value.bytes} bytes` }],
      }),
    },
    { cause },
  );
}

function checkError(cause: unknown, table: RowTable, line?: number): Failure | null {
  const { catalogue } = table;
  const constraint = errorName(cause, 'constraint');
  const [, number, name] = /^k(\d+)_([a-z_]+)$/.exec(constraint) ?? [];
  const column = catalogue.columns.find(({ physical }) => physical === `c${number}`);
  if (!column) return null;
  const check = checkNames.find((each) => each === name && column.checks?.[each] !== undefined);
  const invalid = describeColumnType(column.type).parse('');
  const detail = check
    ? checkText(column.type, column.checks ?? {}, check)
    : name === 'enum' && !invalid.ok
      ? invalid.detail
      : `does not meet the check ${name}`;
  return columnError(cause, table, { line, column: column.name, code: 'check_violation', detail });
}

/** Without the name of a column that the caller does not know, and what its check or type is. */
function columnError(
  cause: unknown,
  { positions }: RowTable,
  item: ProblemItem & { column: string },
): Failure {
  if (positions.has(item.column))
    return fail('validation_failed', { detail: `${item.column} ${item.detail}`, errors: [item] }, { cause });
  const { line, code } = item;
  const detail = 'has a value that the table does not accept';
  return fail(
    'validation_failed',
    { detail: `The row ${detail}.`, errors: [{ line, code, detail }] },
    { cause },
  );
}

function referenceError(cause: unknown, table: RowTable, line?: number): Failure | null {
  const { catalogue } = table;
  const [constraint, physical] = [errorName(cause, 'constraint'), errorName(cause, 'table')];
  const isWritten = cause instanceof Error && cause.message.startsWith('insert or update');
  const column = catalogue.columns.find((each) => each.physical === constraint.replace(/^f/, 'c'));
  if (physical === catalogue.table && isWritten && column?.ref) {
    const detail = 'refers to a row that does not exist';
    return columnError(cause, table, { line, column: column.name, code: 'reference_violation', detail });
  }
  const referrer = catalogue.referencedBy?.find(
    (each) => each.physical === constraint && physicalTableName(each.tableId) === physical,
  );
  if (!referrer) return isWritten ? null : fail('row_in_use', {}, { cause });
  const detail = `Rows of ${referrer.table} refer to this row by ${referrer.column}.`;
  const errors = [
    { line, field: `${referrer.table}.${referrer.column}`, code: 'row_in_use', detail: 'refers to it' },
  ];
  return fail('row_in_use', { detail, errors }, { cause });
}

type OpenTable = (tableId: string) => Promise<{ table: RowTable } | null>;

/** With the names of tables and columns at the other end of a reference that the caller sees, and no others. */
export async function withVisibleNames(failure: Failure, table: RowTable, open: OpenTable): Promise<Failure> {
  const [item] = failure.errors ?? [];
  return item?.code === 'reference_violation'
    ? withTarget(failure, table, item, open)
    : withoutHiddenReferrer(failure, table, open);
}

async function withTarget(
  failure: Failure,
  { catalogue }: RowTable,
  item: ProblemItem,
  open: OpenTable,
): Promise<Failure> {
  const ref = catalogue.columns.find(({ name }) => name === item.column)?.ref;
  const target = ref && (await open(ref.tableId));
  if (!target) return failure;
  const detail = `refers to a row of ${target.table.catalogue.name} that does not exist`;
  const errors = [{ ...item, detail }];
  return fail(failure.code, { detail: `${item.column} ${detail}`, errors }, { cause: failure.cause });
}

async function withoutHiddenReferrer(
  failure: Failure,
  { catalogue }: RowTable,
  open: OpenTable,
): Promise<Failure> {
  const field = failure.code === 'row_in_use' ? failure.errors?.[0]?.field : undefined;
  if (field === undefined) return failure;
  const referrer = catalogue.referencedBy?.find(({ table, column }) => `${table}.${column}` === field);
  const other = referrer && (await open(referrer.tableId));
  return other?.table.byName.has(referrer?.column ?? '')
    ? failure
    : fail('row_in_use', {}, { cause: failure.cause });
}

/** The cached catalogue does not fit the table any more: missing names, or a column that is now required. */
export function isTableOutdated(error: unknown): boolean {
  const code = sqlState(error);
  return (
    code !== null &&
    ['42703', '42P01', '0A000', '3F000', '42804', '23502', '26000', '42P10', '42883'].includes(code)
  );
}

function conflictColumns(error: unknown, { catalogue, positions }: RowTable): string[] {
  const constraint = errorName(error, 'constraint');
  const index = catalogue.unique.find(({ physical }) => physical === constraint);
  const columns =
    index?.columns ?? (constraint.startsWith('i_') || catalogue.foreign ? [] : [catalogue.idColumn]);
  const names = columns.map(({ name }) => name);
  return names.every((name) => positions.has(name)) ? names : [];
}

/** Citus passes on the message only, in which shard numbers follow the names. The table that an error is about comes last. */
const shardNames = {
  table: /"(t_[0-9a-f]{32})_\d+"/g,
  constraint: /"([ip]_[0-9a-f]{32}|f\d+|k\d+_[a-z_]*[a-z])_\d+"/g,
};
const constraintCodes: Readonly<Record<string, string>> = { i: '23505', p: '23505', f: '23503', k: '23514' };

function errorName(error: unknown, field: 'constraint' | 'table'): string {
  if (!(error instanceof Error)) return '';
  const name = (error as Error & Partial<Record<typeof field, unknown>>)[field];
  if (typeof name === 'string') return name;
  return [...error.message.matchAll(shardNames[field])].at(-1)?.[1] ?? '';
}

export function errorCode(error: unknown): string | null {
  const code = sqlState(error);
  if (code !== 'XX000' || !(error instanceof Error)) return code;
  if (/^(row is too big|index row)/.test(error.message)) return '54000';
  return constraintCodes[errorName(error, 'constraint').charAt(0)] ?? code;
}
