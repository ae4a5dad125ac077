import {
  createCategory,
  deleteCategory,
  displayOrderMax,
  displayOrderMin,
  getCategory,
  listCategories,
  updateCategory,
} from '@svc/contract/categories.ts';
import { defineCommand } from '../command.ts';
import type { Flags, Positional } from '../framework/declaration.ts';
import { flagFields, pageFlags } from '../inputs/common.ts';
import { categoryView } from '../views/access.ts';

const categoryPositional = {
  name: 'id',
  summary: 'Category id or slug',
  optional: true,
} as const satisfies Positional;

const categoryIdFlag = {
  id: { type: 'string', placeholder: 'category', summary: 'Category, instead of <id>' },
} as const satisfies Flags;

const categoryFlags = {
  description: { type: 'string', summary: 'Description; empty clears it' },
  color: { type: 'string', placeholder: '#rrggbb', summary: 'Color; empty clears it' },
  'icon-url': {
    type: 'string',
    placeholder: 'url',
    summary: 'URL of an uploaded icon (svc apps sign-icon-upload); empty clears it',
  },
  'display-order': {
    type: 'integer',
    min: displayOrderMin,
    max: displayOrderMax,
    summary: 'Position in lists; lower numbers come first',
  },
} as const satisfies Flags;

interface CategoryArgs {
  flags: { id: string | undefined };
  positionals: { id: string | undefined };
}

function checkCategoryOnce({ flags, positionals }: CategoryArgs): string | undefined {
  const isTwo = flags.id !== undefined && positionals.id !== undefined && flags.id !== positionals.id;
  return isTwo ? 'Give <id> or --id, not both.' : undefined;
}

export const categoriesList = defineCommand({
  words: 'categories list',
  summary: 'List the app categories',
  kind: 'read',
  flags: pageFlags,
  endpoint: listCategories,
  view: categoryView,
  examples: { '--all': 'List every category, by display order and name' },
});

export const categoriesGet = defineCommand({
  words: 'categories get',
  summary: 'Show one category',
  kind: 'read',
  positionals: [{ name: 'id', summary: 'Category id or slug' }],
  endpoint: getCategory,
  examples: { finance: 'By its slug' },
});

export const categoriesCreate = defineCommand({
  words: 'categories create',
  summary: 'Create a category (tenant admins)',
  kind: 'mutate',
  flags: {
    name: { type: 'string', required: true, summary: 'Display name' },
    slug: {
      type: 'string',
      placeholder: 'slug',
      summary: 'Short name for commands (derived from the name)',
    },
    ...categoryFlags,
  },
  endpoint: createCategory,
  input: ({ flags }) => ({
    body: flagFields(flags, 'name', 'slug', 'description', 'color', 'icon-url', 'display-order'),
  }),
  examples: {
    "--name Finance --color '#00897b' --display-order 10 --execute":
      'Create a category with a position in lists',
  },
});

export const categoriesUpdate = defineCommand({
  words: 'categories update',
  summary: 'Change a category (tenant admins)',
  kind: 'mutate',
  positionals: [categoryPositional],
  flags: {
    ...categoryIdFlag,
    name: { type: 'string', summary: 'New name; the slug stays' },
    slug: { type: 'string', placeholder: 'slug', summary: 'New short name for commands' },
    ...categoryFlags,
  },
  oneRequired: [['id'], ['name', 'slug', 'description', 'color', 'icon-url', 'display-order']],
  check: checkCategoryOnce,
  endpoint: updateCategory,
  input: ({ flags }) => ({
    body: flagFields(flags, 'name', 'slug', 'description', 'color', 'icon-url', 'display-order'),
  }),
  examples: { 'finance --display-order 20 --execute': 'Move it in lists' },
});

export const categoriesDelete = defineCommand({
  words: 'categories delete',
  summary: 'Delete a category (tenant admins); its apps then have no category',
  kind: 'mutate',
  confirm: true,
  positionals: [categoryPositional],
  flags: categoryIdFlag,
  oneRequired: [['id']],
  check: checkCategoryOnce,
  endpoint: deleteCategory,
  deletedId: getCategory,
  examples: { 'finance --execute --yes': 'Delete it without confirmation' },
});
