import { perPageDefault, perPageMax } from '@svc/contract/limits.ts';
import type { Flags } from '../framework/declaration.ts';
import { mutationFlags } from '../framework/flags.ts';

export const appFlag = {
  app: {
    type: 'string',
    placeholder: 'app',
    required: true,
    filled: true,
    manifest: 'app',
    summary: 'App id or slug',
  },
} as const satisfies Flags;

export const appPositional = { name: 'app', summary: 'App id or slug' } as const;

export const pageFlags = {
  page: { type: 'integer', min: 1, max: 1_000_000, summary: 'Page number, from 1' },
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
    summary: 'Fetch all pages',
  },
} as const satisfies Flags;

export const pageFlagsWithLimit = {
  limit: {
    type: 'integer',
    min: 1,
    max: perPageMax,
    winsOver: ['per-page'],
    summary: 'Maximum number of entries',
  },
  ...pageFlags,
  all: { ...pageFlags.all, winsOver: ['per-page', 'limit'] },
} as const satisfies Flags;

export function anyOfSummary(what: string, single: string): string {
  return `Any of these ${what}, in addition to --${single}`;
}

type FlagBag = Readonly<Record<string, unknown>>;

export function checkAnyField(
  flags: FlagBag,
  counts: (value: unknown) => boolean = isDefined,
): string | undefined {
  const fields = Object.entries(flags).filter(([name]) => !Object.hasOwn(mutationFlags, name));
  return fields.some(([, value]) => counts(value)) ? undefined : 'Give at least one field to update.';
}

function isDefined(value: unknown): boolean {
  return value !== undefined;
}

type Snake<S extends string> = S extends `${infer A}-${infer B}` ? `${A}_${Snake<B>}` : S;

/** Fields of a request with the names and values of these flags: `--icon-url` is `icon_url`. */
export function flagFields<F extends object, N extends keyof F & string>(flags: F, ...names: N[]) {
  const fields = names.map((name) => [name.replaceAll('-', '_'), flags[name]]);
  return Object.fromEntries(fields) as { [K in N as Snake<K>]: F[K] };
}
