import { namePattern } from '@svc/contract/columns.ts';
import { envNamePattern } from '@svc/contract/deployments.ts';
import { resourcePathPattern } from '@svc/contract/grants.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import { filterOps } from '@svc/contract/rows.ts';
import type { JsonSchema } from '../command.ts';
import type { Flag } from '../framework/declaration.ts';

const column = '[a-z][a-z0-9_]{0,62}';

/** How a value is written, as JSON Schema. Patterns have no flags, so letters of both cases are spelled out. */
export const grammars = {
  slug: { pattern: slugPattern.source, description: 'Lower case, digits and dashes: pet-shop' },
  id: { pattern: uuidPattern.source.replaceAll('[0-9a-f]', '[0-9a-fA-F]'), description: 'A UUID' },
  duration: {
    pattern: '^(?:[0-9]+(?:\\.[0-9]+)?(?:ms|s|m|h|d))+$',
    description: 'Numbers with units, the largest first: 500ms, 6s, 1h30m',
  },
  time: { format: 'date-time', description: 'RFC 3339 with an offset: 2027-01-31T12:00:00Z' },
  filter: {
    pattern: `^(?:${column}=.*|(?:not\\.)?(?:and|or)=\\(.+\\))$`,
    description: `column=value, column=op.value or column=not.op.value with op ${filterOps.join(', ')}; groups: or=(age.gt.3,and(vip.is.true,name.is.null))`,
  },
  sort: { pattern: `^-?${column}$`, description: 'A column; with - in front descending' },
  column_spec: {
    pattern: `^${column}:(?:text|int|bigint|float|bool|timestamptz|uuid|jsonb)(?::.*)?$`,
    description: 'name:type[:nullable][:default]',
  },
  table_name: { pattern: namePattern.source, description: 'Name of a table or a column' },
  env_name: { pattern: envNamePattern.source, description: 'Name of an environment variable' },
  resource_path: { pattern: resourcePathPattern.source, description: 'schema or schema/table' },
  repository: { pattern: '^[^/\\s]+/[^/\\s]+$', description: 'owner/name' },
} as const satisfies Record<string, JsonSchema>;

export type Grammar = keyof typeof grammars;

/** Flags that have the same grammar in every command. */
const byName: Readonly<Record<string, Grammar>> = {
  slug: 'slug',
  filter: 'filter',
  sort: 'sort',
  column: 'column_spec',
  scope: 'resource_path',
  repo: 'repository',
  'owner-column': 'table_name',
};

export function grammarOf(words: string, name: string, flag: Flag): Grammar | undefined {
  if (flag.type === 'duration' || flag.type === 'time') return flag.type;
  if (flag.type !== 'string' && flag.type !== 'list') return undefined;
  // Lists of apps are sorted by other names than columns.
  if (name === 'sort' && !words.startsWith('rows ')) return undefined;
  return byName[name];
}
