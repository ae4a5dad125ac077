import { beforeAll, expect, test } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { openFeed } from '../support/change-feed.ts';
import { isOnCitus } from '../support/citus.ts';
import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import { type Answered, bearer, newMember, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { comparable } from '../support/rows.ts';
import {
  hiddenColumns,
  hiddenIds,
  type Name,
  names,
  newLeakSurface,
  type Surface,
  visible,
} from './related-leaks-world.ts';

interface Attempt {
  kind: string;
  table: Name;
  path: string;
  method?: string;
  body?: unknown;
  pages?: number;
  etag?: string;
}

const words = ['ada', 'zoe', 'apple', 'pear', 'plum', 'secret', 'order', 's1', 's2', 'x'];
const seenColumns: Record<Name, readonly string[]> = {
  customers: ['id', 'region', 'name', 'email'],
  orders: ['id', 'no', 'title', 'customer', 'agent'],
  notes: ['id', 'place', 'text', 'order_id'],
};

/** Asks through related rows, searches, groups, feeds, history and files in two worlds that differ only in what the caller may not see. */
export function relatedLeaks({ attempts: count }: { attempts: number }): void {
  const random = newRandom();
  const surfaces: Surface[] = [];
  let world: GovernedWorld;

  beforeAll(async () => {
    world = await governedWorld();
    const { server, tenant, app } = world;
    const person = await newMember(tenant);
    const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
    surfaces.push(await newLeakSurface(world, 'rules of an app', bearer({ token }), null));
    surfaces.push(await newLeakSurface(world, 'grants with policies', bearer(person), person.id));
  });

  const anyId = () => random.pick([...visible.slice(0, 6), ...hiddenIds]);
  const anyColumn = (table: Name) =>
    random.pick([...seenColumns[table], ...hiddenColumns[table].slice(0, 1)]);
  const columnsIn = (table: Name) =>
    random.some(seenColumns[table], 2).join(',') + (random.chance(0.1) ? ',secret' : '');
  const isNumber = (column: string) =>
    !['region', 'name', 'email', 'title', 'place', 'text', 'secret'].includes(column);
  const testOf = (column: string) =>
    isNumber(column)
      ? `${random.pick(['eq', 'neq', 'gt', 'lt', 'not.gte'])}.${random.pick([...hiddenIds, 1, 2, 1010, 'x'])}`
      : `${random.pick(['eq', 'neq', 'gt', 'has', 'ihas', 'sw', 'like', 'not.has'])}.${random.pick(words)}`;

  /** `#customers#` stands for the name that the table has. */
  const many = (from: Name) =>
    random.pick(
      from === 'customers'
        ? ['#orders#!customer', '#orders#!agent', '#vault#', '#orders#']
        : from === 'orders'
          ? ['#notes#', '#notes#', '#notes#!order_id', '#notes#!other_order', '#vault#']
          : ['#vault#', '#orders#'],
    );
  const one = (from: Name) =>
    from === 'orders'
      ? random.pick(['customer', 'customer', 'agent', 'shadow'])
      : from === 'notes'
        ? random.pick(['order_id', 'order', 'other_order'])
        : 'secret';
  const tableOf = (relation: string): Name =>
    relation.startsWith('#notes')
      ? 'notes'
      : /^(?:#orders|order|other)/.test(relation)
        ? 'orders'
        : 'customers';

  function embed(from: Name, depth = 0): { select: string; parameter: string } {
    const relation = random.chance(0.5) && from !== 'customers' ? one(from) : many(from);
    const to = tableOf(relation);
    const inner = depth < 2 && random.chance(0.4) ? `,${embed(to, depth + 1).select}` : '';
    const column = anyColumn(to);
    const parameters = [
      `e${depth}.${column}=${testOf(column)}`,
      `e${depth}.sort=-${column}`,
      `e${depth}=is.null`,
      `e${depth}.limit=2`,
    ];
    const join = random.pick(['', '', '!inner']);
    const shown = random.chance(0.1) ? '' : `${columnsIn(to)}${inner}`;
    return {
      select: `e${depth}:${relation}${join}(${shown})`,
      parameter: random.chance(0.5) ? `&${random.pick(parameters)}` : '',
    };
  }

  const embedSearch = (table: Name) => {
    const { select, parameter } = embed(table);
    return `?select=id,${select}${parameter}`;
  };
  const through = (table: Name) => {
    const from = table === 'customers' ? 'orders' : table;
    const first = one(from);
    const to = tableOf(first);
    const next = to === 'orders' && random.chance(0.4) ? 'customer' : null;
    const column = anyColumn(next ? 'customers' : to);
    return { from: from as Name, path: [first, ...(next ? [next] : []), column].join('.'), column };
  };

  const kinds: Record<string, () => Omit<Attempt, 'kind'>> = {
    embed: () => {
      const table = random.pick(names);
      return { table, path: embedSearch(table) };
    },
    'embed in a row': () => {
      const table = random.pick(names);
      return { table, path: `/${anyId()}${embedSearch(table)}`, etag: '' };
    },
    'filter through one row': () => {
      const { from, path, column } = through(random.pick(names));
      const test = testOf(column);
      const search = random.pick([`${path}=${test}`, `or=(${path}.${test},id.eq.1)`, `${path}=is.null`]);
      return { table: from, path: `${random.pick(['', '/_count'])}?select=id&${search}` };
    },
    'sort through one row': () => {
      const { from, path } = through(random.pick(names));
      return { table: from, path: `?select=id&sort=${random.pick(['', '-'])}${path}&per_page=3`, pages: 3 };
    },
    count: () => {
      const table = random.pick(names);
      return { table, path: `/_count${embedSearch(table)}` };
    },
    search: () => {
      const search = random
        .times(1 + random.below(2), () => random.pick(['', '', '-']) + random.pick(words))
        .join(random.pick([' ', ' or ']));
      const place = random.pick(['', '', '/_count', '/_aggregate']);
      const more = place === '/_aggregate' ? 'select=n:count()&' : '';
      return {
        table: random.pick<Name>(['orders', 'customers']),
        path: `${place}?${more}search=${encodeURIComponent(search)}`,
      };
    },
    groups: () => {
      const table = random.pick(names);
      const { path } = through(table);
      const column = anyColumn(table);
      const other = anyColumn(table);
      return {
        table,
        path: `/_aggregate?${random.pick([
          `select=${column},n:count()`,
          `select=m:${column}.max(),k:${other}.count_distinct()`,
          `select=${column},n:count()&having=n.gt.1`,
          `select=n:count()&${other}=${testOf(other)}`,
          `select=n:count()&${path}=is.null`,
          `select=${path},n:count()`,
          `select=n:${path}.count()`,
        ])}`,
      };
    },
    distinct: () => {
      const table = random.pick(names);
      return {
        table,
        path: `?distinct=${anyColumn(table)}&select=${columnsIn(table)}&sort=${anyColumn(table)}`,
      };
    },
    history: () => ({
      table: random.pick(names),
      path: `/${anyId()}/_history${random.pick(['', '?per_page=1'])}`,
    }),
    trash: () => ({
      table: random.pick(names),
      path: `/_trash${random.pick(['', '?per_page=1', '?page=2'])}`,
    }),
    restore: () => ({
      table: 'notes',
      method: 'POST',
      path: `/${random.pick([21, 121, ...hiddenIds])}/_restore?dry_run=true`,
    }),
    file: () => ({
      table: 'orders',
      path: `/${anyId()}/_files/${random.pick(['photo', 'scan', 'secret', 'nothing'])}`,
    }),
    'reference written': () => ({
      table: 'notes',
      method: 'PATCH',
      path: `/${random.pick([1, 2, ...hiddenIds])}?dry_run=true`,
      body: { [random.pick(['other_order', 'secret', 'nothing'])]: random.pick([1, 101, 901]) },
    }),
    'changes by filter': () => {
      const column = anyColumn('notes');
      return {
        table: 'notes',
        method: random.pick(['PATCH', 'DELETE']),
        path: `?${column}=${testOf(column)}&dry_run=true`,
        body: { text: 'x' },
      };
    },
    batch: () => {
      const values = { text: 'x', ...(random.chance(0.3) ? { order_id: { $ref: 'first.order_id' } } : {}) };
      const operations = [
        { op: 'update', table: '#notes#', as: 'first', id: anyId(), values: { text: 'x' } },
        random.pick<object>([
          { op: 'update', table: '#notes#', id: anyId(), values },
          { op: 'update', table: '#notes#', id: 1, values: { secret: { $ref: 'first.secret' } } },
          { op: 'update', table: '#notes#', id: 1, values: { text: { $ref: 'first.secret' } } },
          // An id that is taken is refused, whoever sees the row: ids are unique.
          {
            op: 'upsert',
            table: '#notes#',
            values: { id: random.pick([1, 2, 5_000]), place: 'public', text: 'x' },
          },
          { op: 'delete', table: random.pick(['#notes#', '#vault#']), id: random.pick([1, 2, 901]) },
        ]),
      ];
      return { table: 'notes', method: 'POST', path: '/_batch?dry_run=true', body: { operations } };
    },
  };

  /** On Citus. */
  const refused = new Set(['history', 'trash', 'restore', 'file']);

  test('two worlds that differ only in what is hidden give the same answers', async () => {
    const perSurface = Math.ceil(count / surfaces.length);
    const seen: Record<string, number> = {};
    for (const surface of surfaces) {
      const attempts = random.times(perSurface, (): Attempt => {
        const kind = random.pick(Object.keys(kinds).filter((each) => !(isOnCitus && refused.has(each))));
        seen[kind] = (seen[kind] ?? 0) + 1;
        const made = kinds[kind]!();
        const tables = { ...surface.tables, vault: surface.vault };
        const insertTableNames = (text: string) =>
          text.replace(/#(\w+)#/g, (_, table: keyof typeof tables) => tables[table].name);
        const body = made.body && JSON.parse(insertTableNames(JSON.stringify(made.body)));
        return { ...made, path: insertTableNames(made.path), kind, ...(body && { body }) };
      });
      const feeds = await Promise.all(
        (isOnCitus ? [] : names).map((table) =>
          openFeed(
            `${world.server.baseUrl}${surface.tables[table].path}/_changes?snapshot=true`,
            surface.credential,
          ),
        ),
      );
      for (const feed of feeds) await feed.has('ready');
      const snapshots = feeds.map(({ events }) => events.length);
      const before = await mapConcurrently(attempts, 6, (attempt) => ask(surface, attempt));
      await surface.changeHidden();
      const after = await mapConcurrently(attempts, 6, (attempt) => ask(surface, attempt));
      for (const [at, attempt] of attempts.entries())
        expect([surface.name, attempt, after[at]]).toEqual([surface.name, attempt, before[at]]);
      const answered = before.filter((answers) => answers.some(({ status }) => status === 200));
      // The questions were good ones: many of them were answered.
      expect(answered.length).toBeGreaterThan(perSurface / 4);
      const shown = JSON.stringify(
        before.map((answers) => answers.map(({ status, body }) => status < 300 && body)),
      );
      expect(
        /"(secret|shadow|scan)":|"region":"(us|asia)"|"place":"private"|zoe|plum/.exec(shown),
      ).toBeNull();
      // The feeds have nothing but what is visible: a row at the end.
      const last = {
        customers: { region: 'eu', name: 'z', email: 'z@example.com' },
        orders: { no: 1, title: 'z' },
        notes: { place: 'public', text: 'z' },
      };
      for (const [at, table] of isOnCitus ? [] : names.entries()) {
        await surface.tables[table].insert({ id: 50, ...last[table] });
        await feeds[at]!.has('insert');
        const events = feeds[at]!.events.slice(snapshots[at]!);
        expect([surface.name, table, events.map(({ event, data }) => [event, data.id])]).toEqual([
          surface.name,
          table,
          [['insert', 50]],
        ]);
        expect(JSON.stringify(feeds[at]!.events)).not.toMatch(/"(secret|shadow|scan)":|"(us|asia|private)"/);
        feeds[at]!.cut();
      }
    }
    const list = Object.entries(seen).map(([kind, n]) => `${kind} ${n}`);
    console.log(
      `related leaks: seed ${random.seed}; ${perSurface * surfaces.length} attempts on ${surfaces.map(({ name }) => name).join(', ')} (${list.join(', ')}); differences: 0`,
    );
  });

  test('a hidden table, reference or column answers as one that does not exist', async () => {
    for (const { name, send, vault } of surfaces)
      for (const [table, hidden, searches] of [
        [
          'customers',
          vault.name,
          ['select=id,#(id)', 'select=id,#!customer(id)', '#=is.null', '#.text=eq.1', 'sort=#.text'],
        ],
        [
          'orders',
          'shadow',
          [
            'select=id,#(id)',
            'select=#',
            '#=eq.1',
            '#.text=eq.apple',
            'sort=#.text',
            'or=(#.text.eq.x,id.eq.1)',
            'distinct=#',
          ],
        ],
        ['orders', 'other_order', [`select=id,e:${surfaces[0]!.tables.notes.name}!#(id)`]],
        [
          'orders',
          'secret',
          [
            'select=customer(#)',
            'customer.#=eq.x',
            'sort=customer.#',
            'select=customer(id)&customer.#=is.null',
          ],
        ],
        ['notes', 'other_order', ['select=id,#(id)', '#.no=eq.1', 'sort=#.no']],
      ] as const)
        for (const search of searches) {
          const of = async (word: string) =>
            JSON.stringify(comparable(await send[table]('GET', `?${search.replace('#', word)}`))).replaceAll(
              word,
              '#',
            );
          const unknown = hidden.replace(/^./, 'q');
          expect([name, search, await of(hidden)]).toEqual([name, search, await of(unknown)]);
        }
  });

  test('whoever deletes a row that a hidden one refers to does not learn by what', async () => {
    for (const { name, send, vault, batch, tables } of surfaces) {
      await vault.insert({ id: 7, text: 'x', customer: 12 });
      const answer = await send.customers('DELETE', '/12?dry_run=true');
      const done = await send.customers('DELETE', '/12');
      const operations = [{ op: 'delete', table: tables.customers.name, id: 12 }];
      const batched = await batch('POST', '/_batch', { operations });
      for (const { status, text } of [answer, done, batched])
        expect([name, status, text.includes(vault.name)]).toEqual([name, 409, false]);
    }
  });

  async function ask({ send, batch }: Surface, attempt: Attempt) {
    const { table, method = 'GET', path, body, pages = 0 } = attempt;
    const request = () => (path.startsWith('/_batch') ? batch : send[table])(method, path, body);
    let first = await request();
    // Of previews in parallel that lock the same rows, PostgreSQL ends one.
    const isPreview = path.includes('dry_run=true');
    for (let again = 0; isPreview && first.status === 503 && again < 5; again++) first = await request();
    const answers: Answered[] = [first];
    if (attempt.etag !== undefined) {
      attempt.etag ||= first.headers.get('etag') ?? '"none"';
      answers.push(await send[table]('GET', path, undefined, { 'if-none-match': attempt.etag }));
    }
    for (let page = 0, cursor = first.body.next_cursor; page < pages && cursor; page++) {
      const answer = await send[table]('GET', `${path}&cursor=${cursor}`);
      answers.push(answer);
      cursor = answer.body.next_cursor;
    }
    return answers.map(comparable);
  }
}
