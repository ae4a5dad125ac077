import { beforeAll, expect, test } from 'bun:test';
import { openFeed } from '../support/change-feed.ts';
import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import { type Answered, bearer, type Call, done, newMember, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { comparable, type TestTable } from '../support/rows.ts';
import { mapConcurrently } from '../support/until.ts';

type Name = 'customers' | 'orders' | 'notes';
const names: readonly Name[] = ['customers', 'orders', 'notes'];

interface Surface {
  name: string;
  tables: Record<Name, TestTable>;
  /** A table that refers to the others, and that the person does not see. */
  vault: TestTable;
  send: Record<Name, Call>;
  /** Of the person. */
  credential: Record<string, string>;
  changeHidden(): Promise<void>;
}

interface Attempt {
  kind: string;
  table: Name;
  path: string;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  pages?: number;
  etag?: string;
}

const visible = Array.from({ length: 12 }, (_, at) => at + 1);
/** In the first world, in the second, and in none. */
const hiddenIds = [101, 102, 103, 201, 202, 901];
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
    surfaces.push(await newSurface('rules of an app', bearer({ token }), null));
    surfaces.push(await newSurface('grants with policies', bearer(person), person.id));
  });

  const hiddenColumns: Record<Name, readonly string[]> = {
    customers: ['secret', 'updated_at'],
    orders: ['secret', 'shadow', 'scan', 'updated_at'],
    notes: ['secret', 'other_order', 'updated_at'],
  };
  const filters: Record<Name, string> = {
    customers: 'region=eq.eu',
    orders: 'no=lt.100',
    notes: 'place=eq.public',
  };

  async function newSurface(
    name: string,
    credential: Record<string, string>,
    grantee: string | null,
  ): Promise<Surface> {
    const accessOf = (table: Name) => {
      const nobody = { read: ['none'], write: ['none'] };
      const closed = { read: ['none'], insert: ['none'], update: ['none'], delete: ['none'] };
      const where = [filters[table]];
      const columns = Object.fromEntries(hiddenColumns[table].map((column) => [column, nobody]));
      return grantee ? closed : { read: where, insert: where, update: where, delete: where, columns };
    };
    const logged = { history: '30d', soft_delete: '30d', changes: true };
    const make = async (table: Name, columns: string[]) => {
      const made = await world.table(columns, { access: accessOf(table), ...logged });
      if (!grantee) return made;
      const path = world.pathOf(made);
      const masks = table === 'customers' ? [{ column: 'email', kind: 'email' }] : [];
      const columnsOf = { mode: 'deny', names: hiddenColumns[table] };
      const policy = await world.policy(path, { row_filter: filters[table], columns: columnsOf, masks });
      const preset = await world.preset('read', 'export', 'insert', 'update', 'delete');
      await world.grant({ id: grantee }, path, { preset_id: preset, policy_ids: [policy] });
      return made;
    };
    const customers = await make('customers', [
      ...['id:int', 'region:text', 'name:text', 'email:text', 'secret:text:nullable'],
    ]);
    const closed = { read: ['none'], insert: ['none'], update: ['none'], delete: ['none'] };
    const vault = await world.table(['id:int', `customer:ref:${customers.name}:nullable`, 'text:text'], {
      access: closed,
    });
    const orders = await make('orders', [
      ...[
        'id:int',
        'no:int',
        'title:text',
        'secret:text:nullable',
        'photo:file:nullable',
        'scan:file:nullable',
      ],
      ...[`customer:ref:${customers.name}:nullable`, `agent:ref:${customers.name}:nullable`],
      `shadow:ref:${vault.name}:nullable`,
    ]);
    const notes = await make('notes', [
      ...['id:int', 'place:text', 'text:text', 'secret:text:nullable'],
      ...[`order_id:ref:${orders.name}:nullable`, `other_order:ref:${orders.name}:nullable`],
    ]);
    const index = { search: { title: 'B', secret: 'A' }, language: 'english' };
    await done(orders.shape('POST', '/indexes', index));
    const words = { search: { name: 'B', email: 'A', secret: 'A' } };
    await done(customers.shape('POST', '/indexes', words));
    const tables = { customers, orders, notes };
    const scan = await uploaded(orders, 'scan');
    const photo = await uploaded(orders, 'photo');
    const customer = (id: number, w: 1 | 2) => ({
      region: id > 100 ? (w === 1 ? 'us' : 'asia') : 'eu',
      name: id > 100 ? (w === 1 ? `ada ${id}` : `zoe pear ${id}`) : `ada ${id % 4}`,
      email: grantee && w === 2 ? `a-other-${id}@example.com` : `a${id}@example.com`,
      secret: w === 1 ? `pear s${id}` : `plum ${id % 3}`,
    });
    // Their customers are visible, hidden in both worlds, or none.
    const refs = (id: number) => ({
      customer: [id, 101, 102, null][id % 4] ?? null,
      agent: [103, ((id + 3) % 12) + 1, null][id % 3] ?? null,
    });
    const order = (id: number, w: 1 | 2) => ({
      no: id > 100 ? id * (w === 1 ? 10 : 20) : id,
      title: id > 100 ? (w === 1 ? 'apple secret' : 'plum order pear') : `order ${id % 2 ? 'apple' : 'pear'}`,
      secret: w === 1 ? `apple apple ${id}` : 'plum',
      ...refs(id > 100 ? id - 100 : id),
      scan: w === 1 ? scan : null,
      shadow: w === 1 ? 1 : null,
    });
    const note = (id: number, w: 1 | 2) => ({
      place: id > 100 ? 'private' : 'public',
      text: id > 100 ? (w === 1 ? 'apple' : 'zoe') : `note ${id % 3}`,
      secret: w === 1 ? 'pear' : null,
      order_id: id > 100 ? (w === 1 ? (id % 12) + 1 : 3) : (id % 6) + 1,
      other_order: w === 1 ? (id % 5) + 1 : null,
    });
    for (const id of [...visible, 101, 102, 103]) await customers.insert({ id, ...customer(id, 1) });
    await vault.insert({ id: 1, text: 'apple', customer: 3 });
    for (const id of [...visible, 101, 102, 103])
      await orders.insert({ id, ...order(id, 1), ...(id % 2 ? { photo } : {}) });
    for (const id of [...visible, 101, 102, 103]) await notes.insert({ id, ...note(id, 1) });
    // Deleted rows, of which one was visible.
    for (const [at, id] of [21, 121].entries()) {
      await notes.insert({ ...note(id, 1), id, place: at === 0 ? 'public' : 'private' });
      await done(notes.send('DELETE', `/${id}`));
    }
    const path = (table: Name) => world.as(credential, tables[table]);
    return {
      name,
      tables,
      vault,
      send: { customers: path('customers'), orders: path('orders'), notes: path('notes') },
      credential,
      async changeHidden() {
        for (const id of [101, 102, 103]) await done(notes.send('DELETE', `/${id}`));
        for (const id of [...visible, 101, 102, 103])
          await done(orders.send('PATCH', `/${id}`, order(id, 2)));
        for (const id of [...visible, 101, 102, 103])
          await done(customers.send('PATCH', `/${id}`, customer(id, 2)));
        for (const id of visible) await done(notes.send('PATCH', `/${id}`, note(id, 2)));
        for (const id of [201, 202]) await notes.insert({ id, ...note(id, 2) });
        await done(orders.send('DELETE', '/103'));
        await customers.insert({ id: 201, ...customer(201, 2) });
        await orders.insert({ id: 201, ...order(201, 2) });
        await done(vault.send('DELETE', '/1'));
      },
    };
  }

  async function uploaded(table: TestTable, column: string): Promise<string> {
    const given = { column, name: 'a.txt', type: 'text/plain', size: 3 };
    const { file, put_url, headers } = await done(table.send('POST', '/_files', given));
    expect((await fetch(put_url, { method: 'PUT', headers, body: 'abc' })).status).toBe(201);
    return file.id;
  }

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
    batch: () => ({
      table: 'notes',
      method: 'PATCH',
      path: `/${anyId()}?dry_run=true`,
      body: { text: 'x' },
      headers: { prefer: 'return=representation' },
    }),
  };

  test('two worlds that differ only in what is hidden give the same answers', async () => {
    const perSurface = Math.ceil(count / surfaces.length);
    const seen: Record<string, number> = {};
    for (const surface of surfaces) {
      const attempts = random.times(perSurface, (): Attempt => {
        const kind = random.pick(Object.keys(kinds));
        seen[kind] = (seen[kind] ?? 0) + 1;
        const made = kinds[kind]!();
        const tables = { ...surface.tables, vault: surface.vault };
        const path = made.path.replace(/#(\w+)#/g, (_, table: keyof typeof tables) => tables[table].name);
        return { ...made, path, kind };
      });
      const feeds = await Promise.all(
        names.map((table) =>
          openFeed(
            `${world.server.baseUrl}${surface.tables[table].path}/_changes?snapshot=true`,
            surface.credential,
          ),
        ),
      );
      for (const feed of feeds) await feed.has('ready');
      const snapshots = feeds.map(({ events }) => events.length);
      const before = await mapConcurrently(attempts, (attempt) => ask(surface, attempt), 6);
      await surface.changeHidden();
      const after = await mapConcurrently(attempts, (attempt) => ask(surface, attempt), 6);
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
      for (const [at, table] of names.entries()) {
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
    for (const { name, send, vault } of surfaces) {
      await vault.insert({ id: 7, text: 'x', customer: 12 });
      const answer = await send.customers('DELETE', '/12?dry_run=true');
      const done = await send.customers('DELETE', '/12');
      for (const { status, text } of [answer, done])
        expect([name, status, text.includes(vault.name)]).toEqual([name, 409, false]);
    }
  });

  async function ask({ send }: Surface, attempt: Attempt) {
    const { table, method = 'GET', path, body, headers, pages = 0 } = attempt;
    const first = await send[table](method, path, body, headers);
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
