import { beforeAll, describe, expect, test } from 'bun:test';
import { aggregates } from './corpus/aggregates.ts';
import type { Answer, FeedCase, PersonName, ReadCase, StepsCase } from './corpus/cases.ts';
import { changes } from './corpus/changes.ts';
import { rowsOf, seeds } from './corpus/data.ts';
import { embedFilters } from './corpus/embed-filters.ts';
import { embeds } from './corpus/embeds.ts';
import { expand } from './corpus/expand.ts';
import { innerJoins } from './corpus/inner-joins.ts';
import { logic } from './corpus/logic.ts';
import { operators } from './corpus/operators.ts';
import { realtime, refusedFeeds } from './corpus/realtime.ts';
import { ruleChanges } from './corpus/rule-changes.ts';
import { rules } from './corpus/rules.ts';
import { writes } from './corpus/writes.ts';
import { openFeed } from './support/change-feed.ts';
import { isOnCitus } from './support/citus.ts';
import { setApp } from './support/database.ts';
import { type Answered, bearer, caller, done, newMember, tokenThrough } from './support/people.ts';
import { lines, ndjson, newTable, type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';

let world: RowsWorld;
const people = new Map<PersonName, { id: string; token: string }>();

beforeAll(async () => {
  world = await rowsWorld();
  await Promise.all([seedTables(), addPeople()]);
});

async function seedTables(): Promise<void> {
  for (const [name, seed] of Object.entries(seeds)) {
    await newTable(world, name, seed.columns);
    await done(world.owner.call('POST', `${world.data}/${name}`, lines(rowsOf(seed)), ndjson));
  }
}

/** Ada and Ben use the app, and Mona is a manager. */
async function addPeople(): Promise<void> {
  const { tenant, server, app, owner } = world;
  const base = `${tenant.base}/apps/${app.id}`;
  await setApp(server, app.id, { visibility: 'invite_only' });
  for (const name of ['ada', 'ben', 'mona'] as const) {
    const person = await newMember(tenant);
    await done(owner.call('POST', `${base}/members`, { user_id: person.id }));
    if (name === 'mona')
      await done(owner.call('POST', `${base}/roles`, { role: 'manager', user: person.id }));
    people.set(name, {
      id: person.id,
      token: await tokenThrough(server, person, `${tenant.slug}/${app.slug}`),
    });
  }
}

const credential = (name: PersonName | undefined) =>
  bearer((name === undefined ? undefined : people.get(name)) ?? world.owner);

/** `$ada` is a person's id, and `$table` the name of the case's table. */
function filled<T>(value: T, table: string): T {
  const text = JSON.stringify(value)
    .replaceAll('$table', table)
    .replace(/\$(ada|ben|mona)/g, (_, name: PersonName) => people.get(name)?.id ?? '');
  return JSON.parse(text);
}

function expectAnswer({ status, body, headers }: Answered, expected: Answer): void {
  const code = expected.code && (body.errors?.[0]?.code ?? body.code);
  const problem = status >= 400 && (expected.status ?? 200) < 400 ? body : undefined;
  expect({ status, code, problem }).toEqual({
    status: expected.status ?? 200,
    code: expected.code,
    problem: undefined,
  });
  if (expected.note) expect(headers.get('svc-note')).toStartWith(expected.note);
  if (expected.rows) expect(body.data).toEqual(expected.rows);
  if (expected.body) expect(body).toMatchObject(expected.body);
}

/** Cases with tables of the same form share one, which each of them empties and fills. */
const tables = new Map<string, TestTable>();

async function caseTable(stepsCase: StepsCase): Promise<TestTable> {
  const { columns, table: more, indexes, rows = [] } = stepsCase;
  const form = JSON.stringify({ columns, more, indexes });
  const known = tables.get(form);
  if (known) await done(known.send('DELETE', '?id=is.not_null'));
  const table = known ?? (await newCaseTable(stepsCase));
  tables.set(form, table);
  if (rows.length > 0) await table.batch(filled(rows, table.name));
  return table;
}

async function newCaseTable({ columns, table: more, indexes = [] }: StepsCase): Promise<TestTable> {
  const isOwnReference = (column: string) => column.includes('$table');
  const table = await world.table(
    columns.filter((column) => !isOwnReference(column)),
    more,
  );
  for (const column of columns.filter(isOwnReference))
    await done(table.shape('POST', '/columns', JSON.stringify(filled(column, table.name))));
  for (const index of indexes) await done(table.shape('POST', '/indexes', index));
  return table;
}

async function runSteps(table: TestTable, { steps }: StepsCase): Promise<void> {
  for (const step of filled(steps, table.name)) {
    const [method = '', ...rest] = step.send.split(' ');
    const headers = {
      ...(step.lines ? ndjson : {}),
      ...(step.prefer ? { prefer: step.prefer } : {}),
    };
    const body = step.lines ? lines(step.lines) : step.json;
    const send = caller(world.server, credential(step.as), table.path);
    expectAnswer(await send(method, rest.join(' '), body, headers), step);
  }
}

async function runFeed(feedCase: FeedCase): Promise<void> {
  const table = await caseTable(feedCase);
  const { follower, feed: search = '', events } = feedCase;
  const feed = await openFeed(`${world.server.baseUrl}${table.path}/_changes${search}`, credential(follower));
  await feed.has('ready');
  await runSteps(table, feedCase);
  const [last = ''] = events.at(-1) ?? [];
  await feed.has(last, events.filter(([kind]) => kind === last).length);
  feed.cut();
  const received = feed.events
    .slice(1)
    .map(({ event, data: { created_at, updated_at, ...data } }) => [event, data]);
  expect(received).toEqual(events);
}

const readGroups = {
  'related rows': [...embeds, ...expand],
  'filters of related rows': [...innerJoins, ...embedFilters],
  aggregates,
  'null, logic and operators': [...logic, ...operators],
} satisfies Record<string, ReadCase[]>;
const stepGroups = {
  writes: [...writes, ...changes],
  rules: [...rules, ...ruleChanges],
  'refused feeds': refusedFeeds,
} satisfies Record<string, StepsCase[]>;

for (const [group, cases] of Object.entries(readGroups))
  describe(group, () => {
    for (const { name, get, accept, ...expected } of cases)
      test(name, async () => {
        const read = caller(world.server, bearer(world.owner), world.data);
        expectAnswer(await read('GET', `/${get}`, undefined, accept ? { accept } : {}), expected);
      });
  });

for (const [group, cases] of Object.entries(stepGroups))
  describe.skipIf(isOnCitus && group === 'refused feeds')(group, () => {
    for (const stepsCase of cases)
      test(stepsCase.name, async () => runSteps(await caseTable(stepsCase), stepsCase));
  });

describe.skipIf(isOnCitus)('changes', () => {
  for (const feedCase of realtime) test(feedCase.name, () => runFeed(feedCase));
});

test('the guide has each difference to PostgREST and PocketBase, and no other', async () => {
  const all = [...Object.values(readGroups).flat(), ...Object.values(stepGroups).flat(), ...realtime];
  expect(all.length).toBeGreaterThanOrEqual(150);
  expect(new Set(all.map(({ name, from }) => `${name} ${from}`)).size).toBe(all.length);
  const guide = await Bun.file(new URL('../docs/guides/rows.md', import.meta.url)).text();
  const [, section = ''] = guide.split('\n## Different from PostgREST and PocketBase\n');
  const [table = ''] = section.split('\n## ');
  const subjects = [...table.matchAll(/^\| ([^|]+?) \|/gm)].map(([, subject]) => subject).slice(1);
  const differences = new Set(all.flatMap(({ differs }) => differs ?? []));
  expect([...subjects].sort()).toEqual([...differences].sort());
});
