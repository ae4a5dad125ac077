import { expect, test } from 'bun:test';
import { type FeedEvent, foldEvents, openFeed } from '../support/change-feed.ts';
import { createDatabase, databaseUrlOf, openServerDatabase, setApp } from '../support/database.ts';
import { governedWorld } from '../support/governed.ts';
import { bearer, caller, done, newMember, type Person, tokenThrough } from '../support/people.ts';
import { newRandom, type Random } from '../support/random.ts';
import { lines, ndjson, type RowsWorld, Tally, type TestTable } from '../support/rows.ts';
import { type RunningServer, startBeside, startEmbedded } from '../support/server.ts';
import { until } from '../support/until.ts';

interface Sizes {
  writersCount: number;
  kills: number;
  /** Writes between two kills, at least. */
  writesPerKill: number;
}

interface Subscriber {
  name: string;
  search: string;
  credential: Record<string, string>;
  /** Of a row in an event, in their order. */
  columns: readonly string[];
  /** As far as the columns tell. */
  mayRead: (row: Record<string, unknown>) => boolean;
  rows: Map<string, unknown>;
  wrong: string[];
  events: number;
  resets: number;
  connections: number;
  cut: () => void;
}

/** Of all servers, the listeners of the feeds among them. */
const endConnections = `select query, pg_terminate_backend(pid) from pg_stat_activity
  where datname = $1 and backend_type = 'client backend'`;

/**
 * Writers at three servers of one database, which die, whose
 * connections to the database are ended, and subscribers with different rights, whose connections are cut.
 */
export function rowsChangesCrash({ writersCount, kills, writesPerKill }: Sizes): void {
  const regions = ['eu', 'us', 'asia'];

  test('events give every subscriber exactly the rows and columns that they may read', async () => {
    const random = newRandom();
    const host = await startEmbedded({ env: { SVC_SEED: 'none' } });
    const url = await createDatabase(databaseUrlOf(host), 'feeds');
    const start = () => startBeside(host, { SVC_DATABASE_URL: url, SVC_LOG_LEVEL: 'warn' });
    const servers = await Promise.all([start(), start(), start()]);
    const world = await governedWorld(servers[0]!);
    const table = await world.table(['person:uuid', 'region:text', 'title:text', 'n:int', 'secret:int:0'], {
      owner_column: 'person',
      changes: true,
    });
    const rules = {
      read: ['own', 'region=eq.eu', 'role:chief'],
      write: ['any'],
      columns: { secret: { read: ['role:chief'] } },
    };
    await done(table.shape('PUT', '/access', rules));
    const people = await visitors(world, ['ada', 'ben', 'chief']);
    const owner = bearer(world.owner);
    const grantee = await newMember(world.tenant);
    const policy = await world.policy(world.pathOf(table), {
      row_filter: 'region=neq.asia',
      columns: { mode: 'deny', names: ['secret'] },
      masks: [
        { column: 'title', kind: 'partial', args: { first: 1, last: 0 } },
        { column: 'n', kind: 'round', args: { to: 10 } },
      ],
    });
    const preset_id = await world.preset('read', 'export');
    await world.grant(grantee, world.pathOf(table), { preset_id, policy_ids: [policy] });
    const visible = ['id', 'person', 'region', 'title', 'n', 'created_at', 'updated_at'];
    const all = visible.toSpliced(5, 0, 'secret');
    const subscribers = [
      newSubscriber('the owner, everything', '', owner, all, () => true),
      newSubscriber(
        'the owner, a filter',
        '?n=lt.50&region=neq.us',
        owner,
        all,
        ({ n, region }) => Number(n) < 50 && region !== 'us',
      ),
      newSubscriber(
        'a visitor',
        '',
        people[0]!.credential,
        visible,
        ({ person, region }) => person === people[0]!.id || region === 'eu',
      ),
      newSubscriber(
        'another visitor, a filter and columns',
        '?n=gte.20&select=title,region',
        people[1]!.credential,
        ['id', 'title', 'region'],
        () => true,
      ),
      newSubscriber(
        'a visitor with a role',
        '?region=in.(us,asia)',
        people[2]!.credential,
        all,
        ({ region }) => region !== 'eu',
      ),
      newSubscriber(
        'somebody with a grant, masks and a row filter',
        '',
        bearer(grantee),
        visible,
        ({ region, title, n }) =>
          region !== 'asia' && /^(?:t|m)[^a-z0-9]+$/.test(String(title)) && Number(n) % 10 === 0,
      ),
    ];
    const phase = { isQuiet: false, isDone: false };
    const following = subscribers.map((subscriber) => follow(subscriber, servers, table, random, phase));
    const statuses = new Tally();
    let written = 0;
    const ids: string[] = [];
    const writers = Array.from({ length: writersCount }, async () => {
      while (!phase.isQuiet) {
        const status = await write(random, { servers, world, table, ids, people });
        statuses.add(status);
        if (typeof status === 'number') written++;
        // A server that starts needs the processor too.
        await Bun.sleep(20);
      }
    });
    const database = openServerDatabase(host);
    let terminated = 0;
    let listeners = 0;
    for (let kill = 0; kill < kills; kill++) {
      const wanted = written + writesPerKill;
      const half = written + writesPerKill / 2;
      await until('rows are written', async () => written >= half, 60_000);
      const ended = await database.query(endConnections, [new URL(url).pathname.slice(1)]);
      terminated += ended.length;
      listeners += ended.filter(({ query }) => query === 'listen svc_rows_changed').length;
      await until('rows are written', async () => written >= wanted, 60_000);
      const at = kill % servers.length;
      const victim = servers[at]!;
      victim.signal('SIGKILL');
      await victim.exited;
      servers[at] = await start();
    }
    const wanted = written + writesPerKill;
    await until('rows are written', async () => written >= wanted, 60_000);
    phase.isQuiet = true;
    await Promise.all(writers);
    for (const subscriber of subscribers) {
      const send = caller(servers[0]!, subscriber.credential, table.path);
      const isComplete = async () => {
        const expected = await allRows(send, subscriber.search);
        return isSame(subscriber.rows, expected);
      };
      await until(`${subscriber.name} has all`, isComplete, 10_000).catch(() => {});
      expect([subscriber.name, subscriber.wrong, await isComplete()]).toEqual([subscriber.name, [], true]);
      expect(subscriber.rows.size).toBeGreaterThan(0);
    }
    phase.isDone = true;
    for (const { cut } of subscribers) cut();
    await Promise.all(following);
    const report = subscribers.map(
      ({ name, events, connections, resets, rows }) =>
        `${name}: ${events} events, ${connections} connections, ${resets} resets, ${rows.size} rows`,
    );
    console.log(
      `change feeds: seed ${random.seed}; ${written} writes, ${kills} kills; ${terminated} database connections ended, ${listeners} of them listeners; ${statuses}\n  ${report.join('\n  ')}`,
    );
    await database.close();
    expect(listeners).toBeGreaterThan(0);
    expect(statuses.except(200, 201, 204, 403, 404, 409, 503, 'no answer')).toEqual([]);
  });

  async function visitors({ tenant, server, app, owner }: RowsWorld, names: readonly string[]) {
    await setApp(server, app.id, { visibility: 'invite_only' });
    const base = `${tenant.base}/apps/${app.id}`;
    return Promise.all(
      names.map(async (name): Promise<Person & { credential: Record<string, string> }> => {
        const person = await newMember(tenant);
        await done(owner.call('POST', `${base}/members`, { user_id: person.id }));
        if (name === 'chief')
          await done(owner.call('POST', `${base}/roles`, { role: 'chief', user: person.id }));
        const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
        return { ...person, credential: bearer({ token }) };
      }),
    );
  }

  function newSubscriber(
    name: string,
    search: string,
    credential: Subscriber['credential'],
    columns: Subscriber['columns'],
    mayRead: Subscriber['mayRead'],
  ): Subscriber {
    const state = { wrong: [], events: 0, resets: 0, connections: 0, cut: () => {} };
    return { name, search, credential, columns, mayRead, rows: new Map(), ...state };
  }

  /** What is wrong with what an event shows. */
  function wrongIn({ columns, mayRead }: Subscriber, { event, data }: FeedEvent): string[] {
    if (event === 'ready' || event === 'reset') return [];
    const expected = event === 'delete' ? ['id'] : columns;
    const isRight = Object.keys(data).join() === expected.join() && (event === 'delete' || mayRead(data));
    return isRight ? [] : [`${event} shows ${JSON.stringify(data)}`];
  }

  async function follow(
    subscriber: Subscriber,
    servers: readonly RunningServer[],
    table: TestTable,
    random: Random,
    phase: { isQuiet: boolean; isDone: boolean },
  ): Promise<void> {
    let lastEventId: string | null = null;
    let isWhole = false;
    let left = 0;
    while (!phase.isDone) {
      const server = servers[random.below(servers.length)]!;
      const search = `${subscriber.search}${subscriber.search === '' ? '?' : '&'}snapshot=true`;
      const resume: Record<string, string> = lastEventId === null ? {} : { 'last-event-id': lastEventId };
      // An interrupted snapshot starts again.
      if (!isWhole) subscriber.rows.clear();
      left = 50 + random.below(400);
      const url = `${server.baseUrl}${table.path}/_changes${search}`;
      const feed = await openFeed(url, { ...subscriber.credential, ...resume }, (event) => {
        subscriber.events++;
        if (event.event === 'reset') subscriber.resets++;
        if (event.event === 'ready') isWhole = true;
        subscriber.wrong.push(...wrongIn(subscriber, event));
        subscriber.wrong.push(...foldEvents([event], subscriber.rows).wrong);
        if (--left < 0 && !phase.isQuiet) subscriber.cut();
      }).catch(() => null);
      if (feed?.status !== 200) {
        await Bun.sleep(50);
        continue;
      }
      subscriber.connections++;
      subscriber.cut = feed.cut;
      await feed.ended;
      lastEventId = feed.lastEventId() ?? lastEventId;
    }
  }

  async function write(
    random: Random,
    {
      servers,
      world,
      table,
      ids,
      people,
    }: {
      servers: readonly RunningServer[];
      world: RowsWorld;
      table: TestTable;
      ids: string[];
      people: readonly Person[];
    },
  ): Promise<number | 'no answer'> {
    const server = servers[random.below(servers.length)]!;
    const send = caller(server, bearer(world.owner), table.path);
    const row = () => ({
      id: Bun.randomUUIDv7(),
      person: people[random.below(people.length)]!.id,
      region: regions[random.below(3)],
      title: `t${random.below(1_000)}`,
      n: random.below(100),
    });
    const id = ids[random.below(Math.max(1, ids.length))] ?? Bun.randomUUIDv7();
    const kind = random.below(100);
    try {
      if (kind < 30) {
        const one = row();
        ids.push(one.id);
        return (await send('POST', '', one)).status;
      }
      if (kind < 33) {
        const many = Array.from({ length: 40 }, row);
        ids.push(...many.map((one) => one.id));
        return (await send('POST', '', lines(many), ndjson)).status;
      }
      if (kind < 70) {
        const { region, n, title } = row();
        const changes = [{ region }, { n }, { title }, { secret: n }][random.below(4)]!;
        return (await send('PATCH', `/${id}`, changes)).status;
      }
      if (kind < 75)
        return (await send('PATCH', `?n=eq.${random.below(100)}&max_affected=1000`, { title: 'many' }))
          .status;
      if (kind < 80) {
        const operations = [
          { op: 'insert', table: table.name, values: row() },
          { op: 'upsert', table: table.name, values: { ...row(), id } },
        ];
        return (await caller(server, bearer(world.owner), world.data)('POST', '/_batch', { operations }))
          .status;
      }
      return (await send('DELETE', `/${id}`)).status;
    } catch {
      return 'no answer';
    }
  }

  async function allRows(send: ReturnType<typeof caller>, search: string): Promise<Map<string, unknown>> {
    const withId = search.replace('select=', 'select=id,');
    const { body, status } = await send('GET', withId, undefined, { accept: 'application/x-ndjson' });
    expect(status).toBe(200);
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const rows = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    return new Map(rows.map((row) => [row.id, row]));
  }

  function isSame(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean {
    if (one.size !== other.size) return false;
    return [...one].every(([id, row]) => JSON.stringify(row) === JSON.stringify(other.get(id)));
  }
}
