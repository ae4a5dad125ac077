import type { Call } from '../support/people.ts';

/** What grants, policies and groups mean, in a few lines that know neither SQL nor the server. */
export interface ModelState {
  /** Rows of a database outside are changed only where they are seen; those of an app also by an id that is known. */
  isForeign: boolean;
  grants: Grant[];
  policies: Policy[];
  groups: Group[];
  rows: Row[];
}

export interface Row {
  id: number;
  region: string;
  team: string;
  email: string | null;
  n: number | null;
}
export type Column = keyof Row;
export type Cell = string | number | null;
const columns: readonly Column[] = ['id', 'region', 'team', 'email', 'n'];

export interface Principal {
  name: string;
  kind: 'user' | 'app' | 'service_account';
  id: string;
  email: string;
  region: string | null;
  call: Call;
  /** Set where the person uses the connector through an app: it does no more than its data scopes allow. */
  through?: DataApp;
}

export interface DataApp {
  name: string;
  ownerId: string;
  requested: readonly DataScope[];
  /** By a review. */
  approved: readonly DataScope[];
}

export interface DataScope {
  text: string;
  action: string;
  /** Whether it names the table, its schema or its connector. */
  coversTable: boolean;
}

export interface Group {
  id: string;
  name: string;
  /** Ids of people. */
  members: Set<string>;
}

export interface Grant {
  id: string;
  holder: Principal | Group;
  actions: readonly string[];
  policies: readonly Policy[];
}

export interface Policy {
  id: string;
  filter: Filter;
  masks: Partial<Record<'email' | 'n', string>>;
  denied: readonly Column[];
  actions: readonly string[];
  enabled: boolean;
  enforced: boolean;
}

interface Me {
  region: string | null;
  email: string;
  groups: readonly string[];
}

interface Filter {
  text: string;
  holds(row: Row, me: Me): boolean;
  /** False without the value of the caller that it needs. */
  isPossible?(me: Me): boolean;
}

export const regions = ['eu', 'us', 'ap'];
export const groupNames = ['red', 'blue'];
export const emails = ['ada@example.com', 'b@example.com', 'zoe2@example.com'];

const needsRegion = ({ region }: Me) => region !== null;
export const filters: readonly Filter[] = [
  { text: '', holds: () => true },
  { text: '', holds: () => true },
  { text: 'region=eq.eu', holds: ({ region }) => region === 'eu' },
  { text: 'region=neq.us', holds: ({ region }) => region !== 'us' },
  { text: 'region=eq.@me.region', holds: (row, me) => row.region === me.region, isPossible: needsRegion },
  {
    text: 'region=not.eq.@me.region',
    holds: (row, me) => me.region !== null && row.region !== me.region,
    isPossible: needsRegion,
  },
  { text: 'n=gt.3', holds: ({ n }) => n !== null && n > 3 },
  { text: 'n=is.null', holds: ({ n }) => n === null },
  { text: 'or=(region.eq.ap,n.lte.0)', holds: ({ region, n }) => region === 'ap' || (n !== null && n <= 0) },
  { text: 'team=eq.@me.groups', holds: ({ team }, me) => me.groups.includes(team) },
  { text: 'team=neq.@me.groups', holds: ({ team }, me) => !me.groups.includes(team) },
  {
    text: 'or=(region.eq.eu,team.in.(@me.groups,none))',
    holds: ({ region, team }, me) => region === 'eu' || [...me.groups, 'none'].includes(team),
  },
  // An empty list excludes nothing, a row without a value neither.
  { text: 'email=not.in.(@me.groups)', holds: ({ email }, me) => me.groups.length === 0 || email !== null },
  { text: 'id=lt.13', holds: ({ id }) => id < 13 },
];

export const maskKinds = {
  email: ['null', 'constant', 'redact', 'hash', 'partial', 'email'],
  n: ['null', 'constant', 'round'],
} as const;
const constants = { email: '5', n: 5 };
/** From the most permissive; the numbers are those of the specification, turned round. */
const strictness = ['', 'round', 'email', 'partial', 'hash', 'redact', 'constant', 'null'];
/** Hides what each of the two hides: `partial` and `email` show different ends. */
function stricter(one: string, other: string): string {
  if (one !== other && [one, other].every((kind) => ['partial', 'email'].includes(kind))) return 'redact';
  return strictness.indexOf(one) >= strictness.indexOf(other) ? one : other;
}

function masked(kind: string, value: Cell): Cell {
  if (kind === 'null' || value === null) return null;
  if (kind === 'round') return Math.round(Number(value) / 10) * 10 + 0;
  const text = String(value);
  if (kind === 'redact') return text.replace(/[a-z]/g, 'x').replace(/[0-9]/g, '0');
  if (kind === 'hash') return `hash:${text}`;
  if (kind === 'partial') return `${text[0]}•••${text.at(-1)}`;
  if (kind === 'email') return `${text[0]}•••${text.slice(text.indexOf('@'))}`;
  return value;
}

/** One grant with what its policies and the enforced ones leave for an action. */
interface Way {
  policies: readonly Policy[];
  me: Me;
}

const meOf = ({ groups }: ModelState, { id, region, email }: Principal): Me => ({
  region,
  email,
  groups: groups.filter(({ members }) => members.has(id)).map(({ name }) => name),
});

export function reach({ grants, groups }: ModelState, who: Principal): Grant[] {
  const holders = [who.id, ...groups.filter(({ members }) => members.has(who.id)).map(({ id }) => id)];
  return grants.filter(({ holder }) => holders.includes(holder.id));
}

export const may = (state: ModelState, who: Principal, action: string) =>
  allowsThrough(who, action) && reach(state, who).some(({ actions }) => actions.includes(action));

/** Owners try out what they request before a review approves it. */
function allowsThrough({ through, id }: Principal, action: string): boolean {
  if (!through) return true;
  const { requested, approved, ownerId } = through;
  const isUsable = ({ text }: DataScope) => id === ownerId || approved.some((scope) => scope.text === text);
  return requested.some((scope) => scope.action === action && scope.coversTable && isUsable(scope));
}

function waysOf(state: ModelState, who: Principal, action: string): Way[] {
  if (!allowsThrough(who, action)) return [];
  const me = meOf(state, who);
  const enforced = state.policies.filter((policy) => policy.enforced);
  return reach(state, who)
    .filter(({ actions }) => actions.includes(action))
    .map(({ policies }) => ({
      me,
      policies: [...policies, ...enforced].filter(
        ({ enabled, actions }) => enabled && (actions.includes('read') || actions.includes(action)),
      ),
    }));
}

const holds = ({ policies, me }: Way, row: Row) => policies.every(({ filter }) => filter.holds(row, me));
const isPossible = ({ policies, me }: Way) => policies.every(({ filter }) => filter.isPossible?.(me) ?? true);
const shows = ({ policies }: Way, column: Column) => policies.every(({ denied }) => !denied.includes(column));
const maskOf = ({ policies }: Way, column: Column) =>
  policies.reduce((strictest, { masks }) => stricter(strictest, masks[column as 'n'] ?? ''), '');
const isClear = (way: Way, column: Column) => shows(way, column) && maskOf(way, column) === '';

/** Ways that can show a row decide which columns there are; without any, all ways do. */
function viewOf(state: ModelState, who: Principal, action: 'read' | 'export') {
  const ways = waysOf(state, who, action);
  const possible = ways.filter(isPossible);
  const shown = possible.length > 0 ? possible : ways;
  return { shown, columns: columns.filter((column) => shown.some((way) => shows(way, column))) };
}

export const columnsOf = (state: ModelState, who: Principal): ReadonlySet<Column> =>
  new Set(viewOf(state, who, 'read').columns);
export const exportColumns = (state: ModelState, who: Principal): ReadonlySet<Column> =>
  new Set(viewOf(state, who, 'export').columns);

/** The rows as the principal sees them: in each the most permissive of the grants that show it. */
export function cellsOf(
  state: ModelState,
  who: Principal,
  action: 'read' | 'export',
): Record<string, Cell>[] {
  const view = viewOf(state, who, action);
  return state.rows.flatMap((row) => {
    const showing = view.shown.filter((way) => holds(way, row));
    if (showing.length === 0) return [];
    const cells = view.columns.map((column) => {
      const masks = showing.filter((way) => shows(way, column)).map((way) => maskOf(way, column));
      const [mask] = masks.toSorted((one, other) => strictness.indexOf(one) - strictness.indexOf(other));
      if (mask === undefined) return [column, null];
      return [column, mask === 'constant' ? constants[column as 'n'] : masked(mask, row[column])];
    });
    return [Object.fromEntries(cells)];
  });
}

/** The status of a change that the grants do not refuse as a whole. */
export function changesOf(
  state: ModelState,
  who: Principal,
  kind: 'insert' | 'update' | 'delete',
  { target, after, names }: { target: Row; after: Row; names: readonly string[] },
): number {
  const ways = waysOf(state, who, kind);
  const { through, ...person } = who;
  // An app that may not read for its visitor does not lift what masks protect from the visitor.
  const reads = waysOf(state, person, 'read');
  const seen = waysOf(state, who, 'read');
  const written = (kind === 'insert' ? columns : names) as Column[];
  // What the principal reads masked or hidden is changed only where another grant shows it.
  const isLimited = (column: Column) => kind === 'update' && reads.some((way) => !isClear(way, column));
  const isOpen = (column: Column, row: Row) =>
    !isLimited(column) || reads.some((way) => isClear(way, column) && holds(way, row));
  const canEver = (column: Column) =>
    ways.some((way) => isClear(way, column)) &&
    (!isLimited(column) || reads.some((way) => isClear(way, column) && isPossible(way)));
  if (state.isForeign && kind !== 'insert' && seen.length === 0) return 404;
  if (written.some((column) => !canEver(column))) return 400;
  const allows = (row: Row) =>
    ways.some(
      (way) => holds(way, row) && written.every((column) => isClear(way, column) && isOpen(column, row)),
    );
  if (kind === 'insert') return allows(target) ? 201 : 403;
  const isVisible = seen.some((way) => holds(way, target));
  // One that the principal may change in another column is no secret either.
  const isKnown = isVisible || (!state.isForeign && ways.some((way) => holds(way, target)));
  if (!isKnown) return 404;
  return allows(target) && allows(after) ? 204 : 403;
}

/** Nulls last, texts by their bytes. */
export function sortedBy(rows: readonly Record<string, Cell>[], by: 'email' | 'n') {
  const compare = (one: Cell, other: Cell): number => {
    if (one === other) return 0;
    if (one === null || other === null) return one === null ? 1 : -1;
    return typeof one === 'number'
      ? one - Number(other)
      : Buffer.compare(Buffer.from(one), Buffer.from(String(other)));
  };
  return rows.toSorted(
    (one, other) => compare(one[by] ?? null, other[by] ?? null) || Number(one.id) - Number(other.id),
  );
}

export function aggregateOf(rows: readonly Record<string, Cell>[]) {
  const groups = Map.groupBy(rows, ({ email }) => email ?? null);
  const found = [...groups].map(([email, those]) => {
    const numbers = those.flatMap(({ n }) => (n === null || n === undefined ? [] : [Number(n)]));
    const s = numbers.length === 0 ? null : numbers.reduce((sum, n) => sum + n, 0);
    return { email, c: those.length, s, id: 0 };
  });
  return sortedBy(found, 'email').map(({ id, ...group }) => group);
}
