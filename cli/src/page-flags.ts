import { perPageDefault, perPageMax } from '@svc/contract/limits.ts';
import type { Flags } from './command.ts';

/** For listings by page; `--all` follows them to the end. */
export const pageFlags = {
  page: { type: 'integer', min: 1, max: 1_000_000, summary: 'Page, from 1' },
  'per-page': {
    type: 'integer',
    min: 1,
    max: perPageMax,
    alias: ['page-size'],
    summary: `Entries per page (${perPageDefault})`,
  },
  all: {
    type: 'boolean',
    excludes: ['page'],
    winsOver: ['per-page'],
    summary: 'Every page',
  },
} as const satisfies Flags;

/** With `--limit` as another word for the size of a page. */
export const pageFlagsWithLimit = {
  limit: { type: 'integer', min: 1, max: perPageMax, winsOver: ['per-page'], summary: 'Entries at most' },
  ...pageFlags,
  all: { ...pageFlags.all, winsOver: ['per-page', 'limit'] },
} as const satisfies Flags;
