import { expect } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { governedWorld } from '../support/governed.ts';
import type { Answered } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { startWarehouse, type Warehouse } from '../support/warehouses.ts';
import { AccessHistory } from './access-history.ts';
import { newGroups, newPrincipals, openSource } from './connector-principals.ts';
import {
  comparable,
  isHash,
  type Question,
  question,
  type ReadKind,
  readKinds,
} from './connector-questions.ts';
import { DataApps } from './data-apps.ts';
import {
  type Cell,
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
} from './grants-model.ts';

/** Requests that are drawn together; the changes among them are of different rows, and precede the others. */
const batchSize = 50;
const atOnce = 8;
/** The server refuses more than four of a connector. */
const exportsAtOnce = 2;
/** The numbers of rows between which inserts and deletes keep the table: a page has all of them. */
const rowsMin = 20;
const rowsMax = 60;

interface Read extends Question {
  who: Principal;
  kind: ReadKind;
}

interface Change {
  who: Principal;
  kind: ChangeKind;
  target: Row;
  after: Row;
  /** Of an update. */
  names: readonly string[];
  changes: Partial<Row>;
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
      await mapConcurrently(callers, atOnce, (who) => asked.converges(who));
      for (let left = size.requestsPerRound; left > 0; left -= batchSize)
        await asked.batch(callers, Math.min(left, batchSize));
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
    expect(asked.cells.size).toBe(5 * callers.length);
    expect(counts.changed).toBeGreaterThan(counts.requests / 200);
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
  /** Of principals and actions. */
  readonly cells = new Set<string>();
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

  /** Requests that are drawn together: the changes, each of another row, and then reads of the rows that they leave. */
  async batch(callers: readonly Principal[], count: number): Promise<void> {
    const [changes, reads]: [Change[], Read[]] = [[], []];
    const targets = new Set<Row>();
    for (let at = 0; at < count; at++) {
      const who = this.random.pick(callers);
      const picked = this.random.pick(requestKinds);
      this.cells.add(`${who.name} ${actionOf(picked)}`);
      if (isRead(picked))
        reads.push({ who, kind: picked, ...question(this.random, this.state, who, picked) });
      else changes.push(this.drawChange(who, picked, targets));
      if (who.through) this.counts.through++;
    }
    this.counts.requests += count;
    const isDone = await mapConcurrently(changes, atOnce, (change) => this.changeRow(change));
    for (const { kind, target, after } of changes.filter((_, at) => isDone[at])) {
      if (kind !== 'insert') this.state.rows = this.state.rows.filter((row) => row !== target);
      if (kind !== 'delete') this.state.rows = [...this.state.rows, after];
    }
    const ask = (read: Read) => this.ask(read);
    const exported = reads.filter(({ kind }) => kind === 'export');
    const others = reads.filter(({ kind }) => kind !== 'export');
    await Promise.all([mapConcurrently(exported, exportsAtOnce, ask), mapConcurrently(others, atOnce, ask)]);
  }

  private drawChange(who: Principal, picked: ChangeKind, targets: Set<Row>): Change {
    const { random, state } = this;
    const count = state.rows.length;
    const possible: ChangeKind[] = ['update'];
    if (count > rowsMin) possible.push('delete');
    if (count < rowsMax) possible.push('insert');
    const kind = possible.includes(picked) ? picked : random.pick(possible);
    const free = state.rows.filter((row) => !targets.has(row));
    if (kind === 'insert' || free.length === 0) {
      const target = newRow(random, ++this.lastId);
      return { who, kind: 'insert', target, names: [], changes: {}, after: target };
    }
    const target = random.pick(free);
    targets.add(target);
    const { id, ...values } = newRow(random, target.id);
    const names = kind === 'update' ? random.some(Object.keys(values), 1 + random.below(2)) : [];
    const changes = Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
    return { who, kind, target, names, changes, after: { ...target, ...changes } };
  }

  private compare({ who, kind }: Pick<Read | Change, 'who' | 'kind'>, found: unknown, wanted: unknown): void {
    if (!Bun.deepEquals(found, wanted))
      expect([this.said, who.name, kind, found]).toEqual([this.said, who.name, kind, wanted]);
  }

  private async ask(read: Read): Promise<void> {
    const { who, kind, query, wanted, needs, inAnyOrder } = read;
    const action = actionOf(kind);
    const refusal = this.refusal(who, 'read') ?? this.refusal(who, action);
    const columns = action === 'export' ? exportColumns(this.state, who) : columnsOf(this.state, who);
    const headers: Record<string, string> = kind === 'export' ? { accept: 'application/x-ndjson' } : {};
    const answer = await who.call('GET', query, undefined, headers);
    const status = refusal ?? (needs.every((column) => columns.has(column)) ? 200 : 400);
    this.compare(read, [query, answer.status], [query, status]);
    if (status !== 200) {
      this.counts.refused++;
      return;
    }
    const found = content(answer);
    const ordered = (rows: unknown) =>
      inAnyOrder?.()
        ? (rows as object[]).toSorted((a, b) => Bun.inspect(a).localeCompare(Bun.inspect(b)))
        : rows;
    this.compare(
      read,
      [query, ordered(Array.isArray(found) ? comparable(found) : found)],
      [query, ordered(wanted())],
    );
    if (!Array.isArray(found) || found.length === 0) return;
    this.counts.shown++;
    if (who.through) this.counts.shownThrough++;
  }

  /** Whether the row was changed. */
  private async changeRow(change: Change): Promise<boolean> {
    const { who, kind, target, changes } = change;
    const status = this.refusal(who, kind) ?? changesOf(this.state, who, kind, change);
    const minimal = { prefer: 'return=minimal' };
    const answer =
      kind === 'insert'
        ? await who.call('POST', '', target, minimal)
        : kind === 'update'
          ? await who.call('PATCH', `/${target.id}`, changes, minimal)
          : await who.call('DELETE', `/${target.id}`);
    this.compare(change, [target, changes, answer.status], [target, changes, status]);
    if (answer.status >= 300) {
      this.counts.refused++;
      return false;
    }
    this.counts.changed++;
    if (who.through) this.counts.changedThrough++;
    return true;
  }
}

const changeKinds = ['insert', 'update', 'delete'] as const;
const requestKinds = [...readKinds, ...changeKinds];
type ChangeKind = (typeof changeKinds)[number];
const isRead = (kind: ReadKind | ChangeKind): kind is ReadKind => !changeKinds.includes(kind as ChangeKind);

const content = ({ text, body }: Answered) =>
  typeof body === 'string'
    ? text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : (body.data ?? body);

function actionOf(kind: ReadKind): 'read' | 'export';
function actionOf(kind: ReadKind | ChangeKind): string;
function actionOf(kind: ReadKind | ChangeKind): string {
  if (!isRead(kind)) return kind;
  return kind === 'export' ? 'export' : 'read';
}

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
