import { expect } from 'bun:test';
import { governedWorld } from '../support/governed.ts';
import type { Answered } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { startWarehouse, type Warehouse } from '../support/warehouses.ts';
import { AccessHistory } from './access-history.ts';
import { newGroups, newPrincipals, openSource } from './connector-principals.ts';
import { DataApps } from './data-apps.ts';
import {
  aggregateOf,
  type Cell,
  type Column,
  cellsOf,
  changesOf,
  columnsOf,
  emails,
  exportColumns,
  groupNames,
  type ModelState,
  may,
  type Principal,
  type Row,
  reach,
  regions,
  sortedBy,
} from './grants-model.ts';

interface Question {
  query: string;
  /** The columns that it names. */
  needs: Column[];
  wanted: () => unknown;
  /** Hashes have an order that the model does not know. */
  inAnyOrder?: boolean;
}

export interface HistorySize {
  /** Each round changes access a few times, then asks. */
  rounds: number;
  requestsPerRound: number;
}

/**
 * A random history of grants, policies, groups and attributes. After every step each principal gets what the model says:
 * a model of a few lines that knows neither SQL nor the server.
 */
export async function connectorModel(kind: Warehouse['kind'] | 'tables', size: HistorySize): Promise<void> {
  const random = newRandom();
  const world = await governedWorld();
  const warehouse = kind === 'tables' ? null : await startWarehouse(kind);
  try {
    const rows = newRows(random);
    const source = await openSource(world, warehouse, rows);
    const { principals, people } = await newPrincipals(world, source.path);
    const isLong = size.rounds >= 50;
    const apps = await DataApps.open(world, random, { source, owners: people.slice(0, isLong ? 2 : 1) });
    const visitors = await apps.visitors(principals.slice(0, isLong ? 3 : 2));
    const groups = await newGroups(world);
    const state: ModelState = { isForeign: kind !== 'tables', grants: [], policies: [], groups, rows };
    const history = new AccessHistory(world, random, state, {
      connectorId: source.connectorId,
      principals,
      changeScopes: () => apps.change(),
    });
    const callers = [...principals, ...visitors];
    const asked = new Asker(random, state);
    for (let round = 0; round < size.rounds; round++) {
      const changes = round === 0 ? await history.begin() : await history.change(1 + random.below(3));
      asked.said = `seed ${random.seed}, round ${round}: ${changes.join('; ')}`;
      for (const who of callers) await asked.converges(who);
      for (let at = 0; at < size.requestsPerRound; at++) await asked.request(random.pick(callers));
    }
    await history.endEnforced();
    const auditor = principals.find(({ name }) => name === 'auditor')!;
    await asked.converges(auditor);
    const { counts } = asked;
    console.log(
      `grants = model on ${kind}: seed ${random.seed}; ${size.rounds} rounds, ${history.changes} changes of access, ${callers.length} principals, ${counts.requests} requests (${counts.shown} with rows, ${counts.refused} refused, ${counts.mixed} lists with two masks in one column, ${counts.changed} changes of rows), of them ${counts.through} through apps (${counts.shownThrough} with rows, ${counts.changedThrough} changes); differences: 0`,
    );
    expect(counts.requests).toBe(size.rounds * size.requestsPerRound);
    expect(Math.min(counts.shown, counts.refused, counts.mixed, counts.through)).toBeGreaterThan(0);
    if (!isLong) return;
    expect(counts.changed).toBeGreaterThan(counts.requests / 100);
    expect(Math.min(counts.shownThrough, counts.changedThrough)).toBeGreaterThan(0);
  } finally {
    await warehouse?.stop();
  }
}

const newRow = (random: Random, id: number): Row => ({
  id,
  region: random.pick(regions),
  team: random.pick([...groupNames, 'none']),
  email: random.pick(emails),
  n: random.pick([null, -4, 0, 3, 7, 1200]),
});
const newRows = (random: Random) => random.times(24, (at) => newRow(random, at + 1));

/** Asks as a principal, and compares with the model. */
class Asker {
  said = '';
  readonly counts = {
    requests: 0,
    shown: 0,
    refused: 0,
    mixed: 0,
    changed: 0,
    through: 0,
    shownThrough: 0,
    changedThrough: 0,
  };
  private lastId = 1_000;

  constructor(
    private readonly random: Random,
    private readonly state: ModelState,
  ) {}

  /** Every change is in use within a second after it was confirmed, on a server that has the time. */
  async converges(who: Principal): Promise<void> {
    const deadline = performance.now() + 1_000;
    for (;;) {
      const sentAt = performance.now();
      const answer = await who.call('GET', '?per_page=100&sort=id');
      const wanted = this.wantedList(who, 'read');
      const found = answer.status === 200 ? comparable(answer.body.data) : answer.status;
      if (Bun.deepEquals(found, wanted)) {
        if (Array.isArray(found) && hasMixedMasks(answer.body.data)) this.counts.mixed++;
        return;
      }
      if (sentAt > deadline) expect([this.said, who.name, found]).toEqual([this.said, who.name, wanted]);
      await Bun.sleep(5);
    }
  }

  private wantedList(who: Principal, action: 'read' | 'export') {
    const refusal = this.refusal(who, action);
    if (refusal !== null) return refusal;
    return comparable(cellsOf(this.state, who, action).toSorted((a, b) => Number(a.id) - Number(b.id)));
  }

  private refusal(who: Principal, action: string): number | null {
    // An app says what is missing; without an app, a table that no grant opens is none.
    if (!who.through && reach(this.state, who).length === 0) return 404;
    return may(this.state, who, action) ? null : 403;
  }

  async request(who: Principal): Promise<void> {
    const { random } = this;
    this.counts.requests++;
    if (who.through) this.counts.through++;
    const picked = random.pick(requestKinds);
    const kind = picked === 'delete' && this.state.rows.length < 12 ? 'insert' : picked;
    const compare = (found: unknown, wanted: unknown) =>
      expect([this.said, who.name, kind, found]).toEqual([this.said, who.name, kind, wanted]);
    if (kind === 'insert' || kind === 'update' || kind === 'delete')
      return this.changeRow(who, kind, compare);
    const action = kind === 'export' ? 'export' : 'read';
    const refusal = this.refusal(who, 'read') ?? this.refusal(who, action);
    const columns = action === 'export' ? exportColumns(this.state, who) : columnsOf(this.state, who);
    const { query, wanted, needs, inAnyOrder } = this.question(who, kind);
    const headers: Record<string, string> = kind === 'export' ? { accept: 'application/x-ndjson' } : {};
    const answer = await who.call('GET', query, undefined, headers);
    const status = refusal ?? (needs.every((column) => columns.has(column)) ? 200 : 400);
    compare([query, answer.status], [query, status]);
    if (status !== 200) {
      this.counts.refused++;
      return;
    }
    const found = read(answer);
    const ordered = (rows: unknown) =>
      inAnyOrder ? (rows as object[]).toSorted((a, b) => Bun.inspect(a).localeCompare(Bun.inspect(b))) : rows;
    compare([query, ordered(Array.isArray(found) ? comparable(found) : found)], [query, ordered(wanted())]);
    if (!Array.isArray(found) || found.length === 0) return;
    this.counts.shown++;
    if (who.through) this.counts.shownThrough++;
  }

  private question(
    who: Principal,
    kind: Exclude<(typeof requestKinds)[number], 'insert' | 'update' | 'delete'>,
  ): Question {
    const { random, state } = this;
    const cells = (action: 'read' | 'export' = 'read') => cellsOf(state, who, action);
    const [column, holds, text] = random.pick(valueTests);
    const byId = (one: Record<string, Cell>, other: Record<string, Cell>) =>
      Number(one.id) - Number(other.id);
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
          inAnyOrder: cells().some((row) => isHash(row[by])),
        };
      }
      case 'aggregate':
        return {
          query: '/_aggregate?select=email,c:count(),s:n.sum()&sort=email',
          needs: ['email', 'n'],
          wanted: () => comparable(aggregateOf(cells())),
          inAnyOrder: cells().some(({ email }) => isHash(email)),
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

  private async changeRow(
    who: Principal,
    kind: 'insert' | 'update' | 'delete',
    compare: (found: unknown, wanted: unknown) => void,
  ): Promise<void> {
    const { random, state } = this;
    const target = kind === 'insert' ? newRow(random, ++this.lastId) : random.pick(state.rows);
    const { id, ...values } = newRow(random, target.id);
    const names = kind === 'update' ? random.some(Object.keys(values), 1 + random.below(2)) : [];
    const changes = Object.fromEntries(
      Object.entries(values).filter(([name]) => names.includes(name) || name === names[0]),
    );
    const after = kind === 'insert' ? target : { ...target, ...changes };
    const status = this.refusal(who, kind) ?? changesOf(state, who, kind, { target, after, names });
    const minimal = { prefer: 'return=minimal' };
    const answer =
      kind === 'insert'
        ? await who.call('POST', '', target, minimal)
        : kind === 'update'
          ? await who.call('PATCH', `/${target.id}`, changes, minimal)
          : await who.call('DELETE', `/${target.id}`);
    compare([target, changes, answer.status], [target, changes, status]);
    if (answer.status >= 300) return;
    this.counts.changed++;
    if (who.through) this.counts.changedThrough++;
    const others = state.rows.filter((row) => row !== target);
    state.rows = kind === 'delete' ? others : [...others, after];
  }
}

const requestKinds = [
  ...(['list', 'export', 'filter', 'count', 'sort', 'aggregate', 'distinct', 'get'] as const),
  ...(['insert', 'update', 'delete'] as const),
];

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

const read = ({ text, body }: Answered) =>
  typeof body === 'string'
    ? text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : (body.data ?? body);

/** The key of hashes is not known to the model. */
const comparable = (rows: readonly object[]) =>
  rows.map((row) => {
    const cells = Object.entries(row).filter(([name]) => !['created_at', 'updated_at'].includes(name));
    return Object.fromEntries(cells.map(([name, value]) => [name, isHash(value) ? 'hash' : value]));
  });
const isHash = (value: unknown) => typeof value === 'string' && /^([0-9a-f]{64}|hash:.*)$/.test(value);

const hasMixedMasks = (rows: Record<string, Cell>[]) => {
  const kinds = new Set(rows.map(({ email }) => maskLook(email)).filter(Boolean));
  return kinds.size > 1;
};
const maskLook = (value: Cell | undefined) => {
  if (typeof value !== 'string') return null;
  if (isHash(value)) return 'hash';
  if (value.includes('•••')) return value.includes('@') ? 'email' : 'partial';
  return value.startsWith('x') ? 'redact' : value === '5' ? 'constant' : null;
};
