import { displayOrderMax, displayOrderMin } from '@svc/contract/categories.ts';
import type { Flags, Positional } from '../command.ts';

/** Optional in its place only because `--id` may say it as well. */
export const categoryPositional = {
  name: 'id',
  summary: 'Category id or slug',
  optional: true,
} as const satisfies Positional;

export const categoryIdFlag = {
  id: { type: 'string', placeholder: 'category', summary: 'The category, where <id> is left out' },
} as const satisfies Flags;

/** What may be said of a category beside its name and slug. */
export const categoryFlags = {
  description: { type: 'string', summary: 'What stands in it; empty clears it' },
  color: { type: 'string', placeholder: '#rrggbb', summary: 'Its colour; empty clears it' },
  'icon-url': { type: 'string', placeholder: 'url', summary: 'An http(s) address; empty clears it' },
  'display-order': {
    type: 'integer',
    min: displayOrderMin,
    max: displayOrderMax,
    summary: 'Its place in lists: lower ones stand first',
  },
} as const satisfies Flags;

interface NamedCategory {
  flags: { id: string | undefined };
  positionals: { id: string | undefined };
}

export function categoryOf({ flags, positionals }: NamedCategory): string {
  return positionals.id ?? flags.id ?? '';
}

export function refuseTwoCategories({ flags, positionals }: NamedCategory): string | undefined {
  const isTwo = flags.id !== undefined && positionals.id !== undefined && flags.id !== positionals.id;
  return isTwo ? 'Give <id> or --id, not both.' : undefined;
}
