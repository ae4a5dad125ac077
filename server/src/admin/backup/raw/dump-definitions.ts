import type { ClientBase } from 'pg';
import {
  dependenciesSql,
  objectsSql,
  partitionIndexesSql,
  partitionsSql,
  unsupportedSql,
} from './definitions-sql.ts';
import {
  commentsSql,
  defaultPrivilegesSql,
  grantsSql,
  policiesSql,
  propertiesSql,
  refreshSql,
  rowSecuritySql,
  settingsSql,
} from './properties-sql.ts';

export interface Definitions {
  beforeRows: string[];
  afterRows: string[];
  refresh: string[];
  access: string[];
  isPartial: boolean;
}

interface Item {
  key: string;
  sql: string;
  isBeforeRows: boolean;
}

export async function dumpDefinitions(
  client: ClientBase,
  { role, reviewRole }: { role: string; reviewRole: string },
): Promise<{ definitions: Definitions; leftOut: string[]; hasTable(id: string): boolean }> {
  const graph = await readGraph(client);
  const ordered = graph.order();
  const before = graph.withNeeds(ordered.filter((item) => item.isBeforeRows));
  const properties: string[] = [];
  for (const query of propertiesSql) properties.push(...(await statements(client, query)));
  const access = [
    ...(await readAccess(client, policiesSql, [role])),
    ...(await readAccess(client, grantsSql, [role, reviewRole])),
    ...(await readAccess(client, defaultPrivilegesSql, [role, reviewRole])),
  ];
  const hasPublic = await client.query(`select from pg_namespace where nspname = 'public'`);
  const refresh = new Map(
    (await client.query<{ id: string; sql: string }>(refreshSql)).rows.map(({ id, sql }) => [id, sql]),
  );
  return {
    definitions: {
      beforeRows: [
        ...(hasPublic.rowCount === 0 ? ['drop schema public'] : []),
        ...ordered.filter((item) => before.has(item.key)).map(({ sql }) => sql),
      ],
      afterRows: [...ordered.filter((item) => !before.has(item.key)).map(({ sql }) => sql), ...properties],
      refresh: ordered.flatMap(({ key }) => refresh.get(key.slice(key.indexOf(':') + 1)) ?? []),
      access: [
        ...(await statements(client, commentsSql)),
        ...(await statements(client, rowSecuritySql)),
        ...access.filter(({ who }) => who === null).map(({ sql }) => sql),
        ...(await statements(client, settingsSql, [role])),
      ],
      isPartial: graph.leftOut.length > 0,
    },
    hasTable: (id) => graph.isOrdered(id),
    leftOut: [
      ...graph.leftOut,
      ...new Set(
        access.filter(({ who }) => who !== null).map(({ who, what }) => `rights of role ${who} on ${what}`),
      ),
    ],
  };
}

async function statements(client: ClientBase, query: string, values: string[] = []): Promise<string[]> {
  return (await client.query<{ sql: string }>(query, values)).rows.map(({ sql }) => sql);
}

async function readAccess(client: ClientBase, query: string, values: string[]) {
  return (await client.query<{ sql: string; who: string | null; what: string }>(query, values)).rows;
}

interface ObjectRow {
  class: string;
  id: string;
  step: number;
  sql: string;
}

async function readGraph(client: ClientBase) {
  const objects = (await client.query<ObjectRow>(objectsSql)).rows;
  const unsupported = (await client.query<{ class: string; id: string; what: string }>(unsupportedSql)).rows;
  const dependencies = (
    await client.query<{ class: string; id: string; ref_class: string; ref_id: string; is_part: boolean }>(
      dependenciesSql,
    )
  ).rows;
  const { rows: classes } = await client.query<{ oid: string }>(
    `select 'pg_class'::regclass::oid::int8 as oid`,
  );
  const relation = (id: string) => `${classes[0]?.oid}:${id}`;
  const items = new Map<string, Item>();
  for (const { class: kind, id, step, sql } of objects) {
    const key = `${kind}:${id}`;
    items.set(key, { key, sql, isBeforeRows: step === tableStep });
  }
  const partOf = new Map<string, string>();
  for (const row of dependencies)
    if (row.is_part) partOf.set(`${row.class}:${row.id}`, `${row.ref_class}:${row.ref_id}`);
  const missing = new Map(unsupported.map(({ class: kind, id, what }) => [`${kind}:${id}`, what]));
  /** An index stands for its constraint, a row type for its table, a function of an extension for the extension. */
  const resolve = (key: string): string | null => {
    const seen = new Set<string>();
    for (let at: string | undefined = key; at !== undefined && !seen.has(at); at = partOf.get(at)) {
      if (items.has(at) || missing.has(at)) return at;
      seen.add(at);
    }
    return null;
  };
  const needs = new Map<string, Set<string>>();
  const addNeed = (from: string | null, to: string | null) => {
    if (from === null || to === null || from === to) return;
    needs.set(from, (needs.get(from) ?? new Set()).add(to));
  };
  for (const row of dependencies)
    addNeed(resolve(`${row.class}:${row.id}`), resolve(`${row.ref_class}:${row.ref_id}`));
  const attach = async (query: string, isBeforeRows: boolean) => {
    const { rows } = await client.query<{ parent: string; child: string; sql: string }>(query);
    for (const { parent, child, sql } of rows) {
      const key = `attach:${child}`;
      items.set(key, { key, sql, isBeforeRows });
      addNeed(key, resolve(relation(parent)));
      addNeed(key, resolve(relation(child)));
    }
  };
  await attach(partitionsSql, true);
  await attach(partitionIndexesSql, false);
  const graph = createGraph(items, needs, missing);
  return { ...graph, isOrdered: (table: string) => graph.isDone(relation(table)) };
}

const tableStep = 7;

function createGraph(
  items: Map<string, Item>,
  needs: Map<string, Set<string>>,
  missing: Map<string, string>,
) {
  const leftOut = [...missing.values()];
  const ordered: Item[] = [];
  const states = new Map<string, 'open' | 'done' | 'missing'>();
  for (const key of missing.keys()) states.set(key, 'missing');
  const visit = (key: string): boolean => {
    const state = states.get(key);
    if (state === 'done') return true;
    if (state === 'missing') return false;
    const item = items.get(key);
    if (state === 'open' || !item)
      throw new Error(`its definitions need each other in a circle: ${item?.sql}`);
    states.set(key, 'open');
    const isComplete = [...(needs.get(key) ?? [])].map(visit).every(Boolean);
    states.set(key, isComplete ? 'done' : 'missing');
    if (isComplete) ordered.push(item);
    else leftOut.push(`what needs it: ${item.sql.slice(0, 200)}`);
    return isComplete;
  };
  return {
    leftOut,
    isDone: (key: string) => states.get(key) === 'done',
    order: (): Item[] => {
      for (const key of items.keys()) visit(key);
      return ordered;
    },
    withNeeds: (items: readonly Item[]): Set<string> => {
      const found = new Set<string>();
      const open = items.map(({ key }) => key);
      for (let key = open.pop(); key !== undefined; key = open.pop()) {
        if (found.has(key)) continue;
        found.add(key);
        open.push(...(needs.get(key) ?? []));
      }
      return found;
    },
  };
}
