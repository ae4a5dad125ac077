import { deleteActions } from '@svc/contract/column-families.ts';
import type { ColumnType } from '@svc/contract/columns.ts';
import { type SearchWeight, searchLanguages, searchWeights } from '@svc/contract/search.ts';
import {
  addColumn,
  addIndex,
  dropColumn,
  dropIndex,
  listIndexes,
  updateColumn,
} from '@svc/contract/tables.ts';
import { defineCommand } from '../command.ts';
import { usageError } from '../framework/errors.ts';
import { appFlag, pageFlags } from '../inputs/common.ts';
import {
  checkColumns,
  columnPlaceholder,
  columnPositional,
  columnTypesNote,
  tablePositional,
} from '../inputs/table.ts';
import { tableIndexView, tableView } from '../views/tables.ts';

export const tablesColumnsAdd = defineCommand({
  words: 'tables columns add',
  summary: 'Add a column to a table',
  description: `${columnTypesNote} Existing rows get the default; without one, the column must be nullable.`,
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    column: { type: 'string', required: true, placeholder: columnPlaceholder, summary: 'Column' },
  },
  check: ({ flags }) => checkColumns([flags.column]),
  endpoint: addColumn,
  input: ({ flags }) => ({ body: flags.column }),
  view: tableView,
  examples: {
    'pets --app shop --column colour:text:nullable --execute': 'Add one',
    'pets --app shop --column seen_at:timestamptz:2026-01-31T00:00:00Z --execute':
      'With a default, which may contain colons',
    "pets --app shop --column 'owner:ref:people:nullable(on_delete=set_null)' --execute":
      'Refer to rows of another table',
  },
});

export const tablesColumnsRename = defineCommand({
  words: 'tables columns rename',
  summary: 'Rename a column; its values stay',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: {
    ...appFlag,
    to: { type: 'string', required: true, placeholder: 'name', summary: 'New name' },
  },
  endpoint: updateColumn,
  input: ({ flags }) => ({ body: { name: flags.to } }),
  view: tableView,
  examples: { 'pets age --app shop --to years --execute': 'Rename it' },
});

export const tablesColumnsUpdate = defineCommand({
  words: 'tables columns update',
  summary: 'Change the type, the checks, the default of a column, or whether it is nullable',
  description:
    'A new default applies to new rows; existing rows do not change. A new type must be able to take every value, as decimal(12,2) ' +
    'takes those of decimal(10,2); to an enum, values can be added, and those that no row has can be removed. New checks ' +
    'must hold for all existing rows. An empty value removes a check.',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: {
    ...appFlag,
    nullable: { type: 'boolean', summary: 'Allow null; --nullable=false requires a value' },
    default: { type: 'string', placeholder: 'value', excludes: ['no-default'], summary: 'New default' },
    'no-default': { type: 'boolean', summary: 'Remove the default' },
    type: { type: 'string', placeholder: 'type', summary: 'New type' },
    'on-delete': {
      type: 'enum',
      values: deleteActions,
      summary: 'For references: what happens when the row that is referred to is deleted',
    },
    min: { type: 'string', placeholder: 'value', summary: 'Minimum of numbers, dates and times' },
    max: { type: 'string', placeholder: 'value', summary: 'Maximum of numbers, dates and times' },
    'min-length': { type: 'string', placeholder: 'n', summary: 'Minimum number of characters or items' },
    'max-length': { type: 'string', placeholder: 'n', summary: 'Maximum number of characters or items' },
    pattern: { type: 'string', placeholder: 'regex', summary: 'Regular expression that texts must match' },
  },
  check: ({ flags }) => {
    const { nullable, default: value, type, 'on-delete': onDelete, ...checks } = flags;
    const isChange = [nullable, value, type, onDelete, ...Object.values(columnChecks(checks) ?? {})].some(
      (each) => each !== undefined,
    );
    return isChange || flags['no-default']
      ? undefined
      : 'Give --nullable, --default, --no-default, --type, --on-delete or a check such as --min.';
  },
  endpoint: updateColumn,
  input: ({ flags }) => ({
    body: {
      nullable: flags.nullable,
      default: flags['no-default'] ? null : flags.default,
      type: flags.type as ColumnType | undefined,
      checks: columnChecks(flags),
      on_delete: flags['on-delete'],
    },
  }),
  view: tableView,
  examples: {
    'pets age --app shop --nullable --execute': 'Allow null',
    'pets kind --app shop --default dog --execute': 'Change the default',
    "pets kind --app shop --type 'enum(cat,dog,fish)' --execute": 'Change the type',
    "pets age --app shop --min 0 --max '' --execute": 'Set one check, remove another',
    'pets owner --app shop --type ref:people --on-delete cascade --execute': 'Refer to rows of another table',
  },
});

/** An empty value stands for null, which removes the check. */
function columnChecks(flags: {
  min?: string | undefined;
  max?: string | undefined;
  'min-length'?: string | undefined;
  'max-length'?: string | undefined;
  pattern?: string | undefined;
}) {
  const text = (value: string | undefined) => (value === '' ? null : value);
  const length = (name: 'min-length' | 'max-length') => {
    const value = flags[name];
    if (value === undefined || value === '') return text(value) as null | undefined;
    if (!/^[0-9]{1,7}$/.test(value)) throw usageError(`--${name} takes a whole number or nothing.`);
    return Number(value);
  };
  const checks = {
    min: text(flags.min),
    max: text(flags.max),
    min_length: length('min-length'),
    max_length: length('max-length'),
    pattern: text(flags.pattern),
  };
  return Object.values(checks).every((value) => value === undefined) ? undefined : checks;
}

export const tablesColumnsDrop = defineCommand({
  words: 'tables columns drop',
  summary: 'Drop a column with its values and indexes',
  kind: 'mutate',
  positionals: [tablePositional, columnPositional],
  flags: appFlag,
  endpoint: dropColumn,
  examples: { 'pets age --app shop --execute': 'Drop it' },
});

export const tablesIndexesList = defineCommand({
  words: 'tables indexes list',
  summary: 'List the indexes and unique constraints of a table',
  kind: 'read',
  positionals: [tablePositional],
  flags: { ...appFlag, ...pageFlags },
  endpoint: listIndexes,
  view: tableIndexView,
  examples: { 'pets --app shop': 'For one table' },
});

export const tablesIndexesAdd = defineCommand({
  words: 'tables indexes add',
  summary: 'Add an index or a unique constraint to a table',
  description:
    'Rows can be read but not written while the index is built. An index over a single jsonb column supports the ' +
    'filter cs, over a single list column cs, cd and ov. A table can have one index for full-text search.',
  kind: 'mutate',
  positionals: [tablePositional],
  flags: {
    ...appFlag,
    column: {
      type: 'list',
      placeholder: 'column',
      summary: 'Columns, in this order',
    },
    search: {
      type: 'list',
      placeholder: 'column:weight',
      excludes: ['column', 'unique'],
      summary: 'Text columns for full-text search (rows list --search), with weights A to D; A counts most',
    },
    language: { type: 'enum', values: searchLanguages, summary: 'Language of the searched texts (simple)' },
    unique: { type: 'boolean', summary: 'Reject rows with the same values' },
    name: { type: 'string', placeholder: 'name', summary: 'Name (derived from the columns)' },
  },
  oneRequired: [['column', 'search']],
  endpoint: addIndex,
  input: ({ flags }) => ({
    body: {
      columns: flags.column,
      unique: flags.unique,
      name: flags.name,
      search: flags.search && searchColumns(flags.search),
      language: flags.language,
    },
  }),
  view: tableIndexView,
  examples: {
    'pets --app shop --column kind,age --execute': 'For filters and sorting',
    'pets --app shop --column chip --unique --execute': 'One pet per chip',
    'pets --app shop --search name:A,story:B --language german --execute': 'For full-text search',
  },
});

function searchColumns(items: readonly string[]): Record<string, SearchWeight> {
  return Object.fromEntries(
    items.map((item) => {
      const [column = '', text = 'D', ...rest] = item.split(':');
      const weight = searchWeights.find((each) => each === text.toUpperCase());
      if (column === '' || !weight || rest.length > 0)
        throw usageError(`--search takes column:weight with a weight of A, B, C or D, not ${item}.`);
      return [column, weight];
    }),
  );
}

export const tablesIndexesDrop = defineCommand({
  words: 'tables indexes drop',
  summary: 'Drop an index or a unique constraint',
  kind: 'mutate',
  positionals: [tablePositional, { name: 'index', summary: 'Index name or id' }],
  flags: appFlag,
  endpoint: dropIndex,
  examples: { 'pets chip_key --app shop --execute': 'By its name' },
});
