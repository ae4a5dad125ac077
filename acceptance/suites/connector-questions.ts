import type { Random } from '../support/random.ts';
import {
  aggregateOf,
  type Cell,
  type Column,
  cellsOf,
  emails,
  type ModelState,
  type Principal,
  sortedBy,
} from './grants-model.ts';

export const readKinds = [
  'list',
  'export',
  'filter',
  'count',
  'sort',
  'aggregate',
  'distinct',
  'get',
] as const;
export type ReadKind = (typeof readKinds)[number];

/** A read, with the answer of the model. */
export interface Question {
  query: string;
  /** The columns that it names. */
  needs: Column[];
  wanted: () => unknown;
  /** Hashes have an order that the model does not know. */
  inAnyOrder?: () => boolean;
}

export function question(random: Random, state: ModelState, who: Principal, kind: ReadKind): Question {
  const cells = (action: 'read' | 'export' = 'read') => cellsOf(state, who, action);
  const [column, holds, text] = random.pick(valueTests);
  const byId = (one: Record<string, Cell>, other: Record<string, Cell>) => Number(one.id) - Number(other.id);
  switch (kind) {
    case 'list':
    case 'export':
      return {
        query: kind === 'list' ? '?per_page=100&sort=id' : '?sort=id',
        needs: [],
        wanted: () => comparable(cells(kind === 'list' ? 'read' : 'export').toSorted(byId)),
      };
    case 'filter':
      return {
        query: `?per_page=100&sort=id&select=id&${text}`,
        needs: [column],
        wanted: () =>
          cells()
            .filter((row) => holds(row[column] ?? null))
            .toSorted(byId)
            .map(({ id }) => ({ id })),
      };
    case 'count':
      return {
        query: `/_count?${text}`,
        needs: [column],
        wanted: () => ({ count: cells().filter((row) => holds(row[column] ?? null)).length }),
      };
    case 'sort': {
      const by = random.pick(['email', 'n'] as const);
      return {
        query: `?per_page=100&sort=${by},id&select=id,${by}`,
        needs: [by],
        wanted: () => comparable(sortedBy(cells(), by).map((row) => ({ id: row.id!, [by]: row[by]! }))),
        inAnyOrder: () => cells().some((row) => isHash(row[by])),
      };
    }
    case 'aggregate':
      return {
        query: '/_aggregate?select=email,c:count(),s:n.sum()&sort=email',
        needs: ['email', 'n'],
        wanted: () => comparable(aggregateOf(cells())),
        inAnyOrder: () => cells().some(({ email }) => isHash(email)),
      };
    case 'distinct':
      return {
        query: '/_count?distinct=email',
        needs: ['email'],
        wanted: () => ({ count: new Set(cells().map(({ email }) => email)).size }),
      };
    case 'get': {
      const { id } = random.pick(state.rows);
      const seen = () => cells().find((row) => row.id === id);
      return { query: `?id=eq.${id}`, needs: [], wanted: () => comparable([seen() ?? []].flat()) };
    }
  }
}

/** On what the principal sees: a mask counts, not what it hides. */
const valueTests: readonly [Column, (value: Cell) => boolean, string][] = [
  ['n', (value) => value !== null && Number(value) > 2, 'n=gt.2'],
  ['n', (value) => value !== null && Number(value) < 8, 'n=lt.8'],
  ['n', (value) => value === null, 'n=is.null'],
  ['email', (value) => value === emails[0], `email=eq.${emails[0]}`],
  ['email', (value) => value === 'a•••@example.com', `email=eq.${encodeURIComponent('a•••@example.com')}`],
  ['email', (value) => typeof value === 'string' && value.startsWith('xxx'), 'email=sw.xxx'],
  ['email', (value) => value === null, 'email=is.null'],
];

/** The key of hashes is not known to the model. */
export const comparable = (rows: readonly object[]) =>
  rows.map((row) => {
    const cells = Object.entries(row).filter(([name]) => !['created_at', 'updated_at'].includes(name));
    return Object.fromEntries(cells.map(([name, value]) => [name, isHash(value) ? 'hash' : value]));
  });
export const isHash = (value: unknown) => typeof value === 'string' && /^([0-9a-f]{64}|hash:.*)$/.test(value);
