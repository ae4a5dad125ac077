import { columnFamilies } from '@svc/contract/column-families.ts';
import { columnTypes, namePattern } from '@svc/contract/columns.ts';
import { envNamePattern } from '@svc/contract/deployments.ts';
import { resourcePathPattern } from '@svc/contract/grants.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import { scheduleNamePattern } from '@svc/contract/manifest.ts';
import { filterOps } from '@svc/contract/rows.ts';
import type { JsonSchema } from '../command.ts';
import type { Flag, Positional } from '../framework/declaration.ts';

const column = '[a-z][a-z0-9_]{0,62}';
/** A column, also of a related row: `author.name`. */
const columnPath = `${column}(?:\\.${column})*`;
const plainTypes = [...columnTypes, 'file'].map((type) => type.replace('[]', '\\[\\]')).join('|');
const typesWithArguments = Object.keys(columnFamilies).join('|');
const typeArguments = '\\((?:"(?:[^"\\\\]|\\\\.)*"|[^")])*\\)';
const reference = `ref:${column}(?:\\(on_delete=[a-z_]+\\))?`;

const uuid = uuidPattern.source.replaceAll('[0-9a-f]', '[0-9a-fA-F]');
/** Alternatives of whole patterns. */
const oneOf = (...patterns: string[]) => patterns.map((pattern) => `(?:${pattern})`).join('|');

/** How a value is written, as JSON Schema. Patterns have no flags, so letters of both cases are spelled out. */
export const grammars = {
  slug: { pattern: slugPattern.source, description: 'Lower case, digits and dashes: pet-shop' },
  id: { pattern: uuid, description: 'A UUID' },
  slug_or_id: { pattern: oneOf(slugPattern.source, uuid), description: 'A slug or a UUID' },
  user: { pattern: oneOf('^[^\\s@]+@[^\\s@]+$', uuid), description: 'An e-mail address or a UUID' },
  deployment: {
    pattern: oneOf('^latest$', '^[1-9][0-9]*$', uuid),
    description: 'latest, a number or a UUID',
  },
  duration: {
    pattern: '^(?:[0-9]+(?:\\.[0-9]+)?(?:ms|s|m|h|d))+$',
    description: 'Numbers with units, the largest first: 500ms, 6s, 1h30m',
  },
  time: { format: 'date-time', description: 'RFC 3339 with an offset: 2027-01-31T12:00:00Z' },
  filter: {
    pattern: `^(?:${columnPath}=.*|(?:not\\.)?(?:and|or)=\\(.+\\))$`,
    description: `column=value, column=op.value or column=not.op.value with op ${filterOps.join(', ')}; groups: or=(age.gt.3,and(vip.is.true,name.is.null))`,
  },
  sort: { pattern: `^-?${columnPath}$`, description: 'A column; with - in front descending' },
  column_spec: {
    pattern: `^${column}:(?:(?:${plainTypes})(?:${typeArguments})?|(?:${typesWithArguments})${typeArguments}|${reference})(?::.*)?$`,
    description:
      'name:type[:nullable][:default]; checks in brackets: age:int(min=0); references: author:ref:authors',
  },
  table_name: { pattern: namePattern.source, description: 'Name of a table or a column' },
  table_name_or_id: { pattern: oneOf(namePattern.source, uuid), description: 'A name or a UUID' },
  table_path: {
    pattern: oneOf(namePattern.source, '^[^/]+/[^/].*$', uuid),
    description: 'A table of an app, by name or UUID; with --connector schema/table',
  },
  process_count: {
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,31}=[0-9]{1,3}$',
    description: 'A process and its number of instances: worker=2',
  },
  schedule_name: { pattern: scheduleNamePattern.source, description: 'Name of a schedule in svc.yaml' },
  env_pair: {
    pattern: envNamePattern.source.replace(/\$$/, '='),
    description: 'NAME=value; the value may be empty or have several lines',
  },
  env_name: { pattern: envNamePattern.source, description: 'Name of an environment variable' },
  resource_path: { pattern: resourcePathPattern.source, description: 'schema or schema/table' },
  repository: { pattern: '^[^/\\s]+/[^/\\s]+$', description: 'owner/name' },
} as const satisfies Record<string, JsonSchema>;

export type Grammar = keyof typeof grammars;

/** By the name of the flag, which may follow the words of the only command or group that it is meant for. */
const flagGrammars: Readonly<Record<string, Grammar>> = {
  app: 'slug_or_id',
  slug: 'slug',
  filter: 'filter',
  'rows sort': 'sort',
  'tables create column': 'column_spec',
  'tables columns add column': 'column_spec',
  'tables indexes add column': 'table_name',
  scope: 'resource_path',
  repo: 'repository',
  'owner-column': 'table_name',
};

const positionalGrammars: Readonly<Record<string, Grammar>> = {
  account: 'slug_or_id',
  app: 'slug_or_id',
  bootstrap: 'id',
  'categories id': 'slug_or_id',
  column: 'table_name',
  connector: 'slug_or_id',
  counts: 'process_count',
  'deployment-id': 'deployment',
  'domain-id': 'id',
  factor: 'id',
  'git-host accounts account': 'id',
  grant: 'id',
  group: 'slug_or_id',
  'groups create name': 'slug',
  index: 'table_name_or_id',
  'members remove user': 'id',
  names: 'env_name',
  notifications: 'id',
  pairs: 'env_pair',
  pat: 'id',
  paths: 'resource_path',
  preset: 'slug_or_id',
  preview: 'slug',
  repository: 'repository',
  request: 'id',
  'rows table': 'table_path',
  rule: 'id',
  'run-id': 'id',
  'schedules name': 'schedule_name',
  'service-accounts create name': 'slug',
  session: 'id',
  slug: 'slug',
  'apps fork source': 'slug_or_id',
  'tables create table': 'table_name',
  table: 'table_name_or_id',
  template: 'id',
  tenant: 'slug_or_id',
  token: 'id',
  user: 'user',
};

export function flagGrammar(words: string, name: string, flag: Flag): Grammar | undefined {
  if (flag.type === 'duration' || flag.type === 'time') return flag.type;
  if (flag.type !== 'string' && flag.type !== 'list') return undefined;
  return findGrammar(flagGrammars, words, name);
}

export function positionalGrammar(words: string, { name, values }: Positional): Grammar | undefined {
  return values === undefined ? findGrammar(positionalGrammars, words, name) : undefined;
}

function findGrammar(
  all: Readonly<Record<string, Grammar>>,
  words: string,
  name: string,
): Grammar | undefined {
  const parts = words.split(' ');
  for (let length = parts.length; length >= 0; length -= 1) {
    const found = all[[...parts.slice(0, length), name].join(' ')];
    if (found !== undefined) return found;
  }
  return undefined;
}
