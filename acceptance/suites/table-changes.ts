import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase, databaseUrlOf } from '../support/database.ts';
import { type CommitFault, type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { type Answered, done } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { rowsWorld, Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded, startServer } from '../support/server.ts';
import { openTableDatabases, type TableDatabases } from '../support/table-definitions.ts';
import { until } from '../support/until.ts';

type Faults = { control?: CommitFault[]; data?: CommitFault[] };

/** Where a commit fails: in the platform's database, or in the one of the tables. */
const points = {
  catalogue: {
    'the catalogue does not commit': { control: ['before'] },
    'the catalogue commits, without an answer': { control: ['after'] },
    'the catalogue commits without an answer, the table does not': { control: ['after'], data: ['before'] },
  },
  table: {
    'the table does not commit': { data: ['before'] },
    'the table commits, without an answer': { data: ['after'] },
    'the table does not commit, nor at the second attempt': { data: ['before', 'before'] },
  },
} satisfies Record<string, Record<string, Faults>>;

/** A change of tables that the next one takes back. */
interface Toggle {
  name: string;
  on(): Promise<Answered>;
  off(): Promise<Answered>;
}

const settledMsMax = 10_000;
const baseRows = [1, 2, 3].map((n) => ({ n, v: n * 10, s: `row ${n}` }));

async function newWorld(server: RunningServer) {
  const world = await rowsWorld(server);
  const { owner, tables, data, app } = world;
  await done(owner.call('POST', tables, { name: 'parent', columns: ['n:int'] }));
  await done(owner.call('POST', tables, { name: 'base', columns: ['n:int', 'v:int', 's:text:nullable'] }));
  for (const row of baseRows) await done(owner.call('POST', `${data}/base`, row));
  const schema = tables.replace(/tables$/, 'schema');
  const call = (method: string, path: string, body?: unknown) => owner.call(method, tables + path, body);
  const apply = (column: string, more: object = {}) =>
    owner.call('POST', schema, {
      tables: { base: { columns: [column] }, ...more },
      allow_destructive: true,
    });
  const toggles: Toggle[] = [
    {
      name: 'table',
      on: () => call('POST', '', { name: 'extra', columns: ['n:int', 'p:ref:parent:nullable'] }),
      off: () => call('DELETE', '/extra'),
    },
    {
      name: 'column',
      on: () => call('POST', '/base/columns', JSON.stringify('added:int:7')),
      off: () => call('DELETE', '/base/columns/added'),
    },
    {
      name: 'unique index',
      on: () => call('POST', '/base/indexes', { columns: ['n'], unique: true, name: 'by_n' }),
      off: () => call('DELETE', '/base/indexes/by_n'),
    },
    {
      name: 'nullable',
      on: () => call('PATCH', '/base/columns/s', { nullable: false }),
      off: () => call('PATCH', '/base/columns/s', { nullable: true }),
    },
    {
      name: 'feed',
      on: () => call('PATCH', '/base', { changes: true }),
      off: () => call('PATCH', '/base', { changes: false }),
    },
    {
      name: 'search index',
      on: () => call('POST', '/base/indexes', { columns: [], search: { s: 'A' }, name: 'words' }),
      off: () => call('DELETE', '/base/indexes/words'),
    },
    {
      name: 'declared tables',
      on: () => apply('v:text', { declared: { columns: ['a:text'], indexes: [{ columns: ['a'] }] } }),
      off: async () => {
        const { tables: left } = await done(owner.call('GET', schema));
        delete left.declared;
        for (const at in left.base.columns)
          if (/^v:/.test(left.base.columns[at])) left.base.columns[at] = 'v:int';
        return owner.call('POST', schema, { tables: left, prune: true, allow_destructive: true });
      },
    },
  ];
  return { ...world, appId: app.id, toggles };
}

type World = Awaited<ReturnType<typeof newWorld>>;

/** What the answers so far say. */
class Expected {
  readonly on = new Set<string>();
  /** Rows of `extra`; null if an answer is missing. */
  extraRows: number | null = 0;

  async turned(world: World, { name }: Toggle): Promise<void> {
    if (!this.on.delete(name)) this.on.add(name);
    if (name !== 'table' || !this.on.has(name)) return;
    this.extraRows = null;
    for (const n of [1, 2]) await done(world.owner.call('POST', `${world.data}/extra`, { n }));
    this.extraRows = 2;
  }

  /** Rows that no change may lose, but the one that was just made. */
  async lostRows({ owner, data }: World, made?: Toggle): Promise<string[]> {
    const problems: string[] = [];
    const base = await owner.call('GET', `${data}/base?sort=n`);
    const rows = (base.body.data ?? []).map(({ n, v, s }: Record<string, unknown>) => ({
      n,
      v: Number(v),
      s,
    }));
    if (JSON.stringify(rows) !== JSON.stringify(baseRows)) problems.push(`base: ${base.status} ${base.text}`);
    if (!this.on.has('table') || made?.name === 'table' || this.extraRows === null) return problems;
    const extra = await owner.call('GET', `${data}/extra`);
    if (extra.body.data?.length !== this.extraRows) problems.push(`extra: ${extra.status} ${extra.text}`);
    return problems;
  }
}

async function settledMs(databases: TableDatabases): Promise<number> {
  const since = performance.now();
  let differences: string[] = [];
  await until(
    'tables are as defined',
    async () => {
      differences = await databases.differences();
      return differences.length === 0;
    },
    settledMsMax,
  ).catch((error) => {
    throw new Error(`${error.message}\n${differences.join('\n')}`);
  });
  return performance.now() - since;
}

async function twoDatabases(host: RunningServer) {
  const own = databaseUrlOf(host);
  return { control: await createDatabase(own, 'control'), data: await createDatabase(own, 'tables') };
}

const changesPerPoint = Number(process.env.SVC_TEST_TABLE_FAULTS ?? 200);

export function failedCommits(of: keyof typeof points): void {
  describe('a commit fails', () => {
    let host: RunningServer;
    let server: RunningServer;
    let proxies: { control: FaultProxy; data: FaultProxy };
    let databases: TableDatabases;
    beforeAll(async () => {
      host = await startEmbedded({ env: { SVC_SEED: 'none' } });
      const urls = await twoDatabases(host);
      proxies = {
        control: await startFaultProxy(urls.control, /svc"?\."?app_table/),
        data: await startFaultProxy(urls.data, /(alter|create|drop|lock) (table|index|unique index|schema) /),
      };
      server = await startServer({
        env: {
          SVC_DATABASE_URL: proxies.control.url,
          SVC_DATA_DATABASE_URL: proxies.data.url,
          SVC_LOG_LEVEL: 'error',
        },
      });
      databases = openTableDatabases(urls.control, urls.data);
    });
    afterAll(async () => {
      await databases?.close();
      await server?.stop();
      for (const proxy of Object.values(proxies ?? {})) proxy.stop();
      await host?.stop();
    });

    for (const [point, faults] of Object.entries<Faults>(points[of])) {
      test(`${point}: the change is whole or not made, as answered, and no row is lost`, async () => {
        const { control, data } = proxies;
        const world = await newWorld(server);
        const expected = new Expected();
        const statuses = new Tally();
        const wrong: string[] = [];
        let slowestMs = 0;
        for (let at = 0; at < changesPerPoint && wrong.length < 5; at++) {
          const toggle = world.toggles[at % world.toggles.length]!;
          const before = await databases.definition(world.appId);
          const change = expected.on.has(toggle.name) ? toggle.off : toggle.on;
          control.arm(faults.control ?? []);
          data.arm(faults.data ?? []);
          const { status, text } = await change();
          statuses.add(status);
          if (control.armed() + data.armed() > 0) wrong.push(`${toggle.name}: no fault (${status} ${text})`);
          control.arm([]);
          data.arm([]);
          slowestMs = Math.max(slowestMs, await settledMs(databases));
          const isChanged = (await databases.definition(world.appId)) !== before;
          if (isChanged !== status < 300)
            wrong.push(`${toggle.name}: ${status}, but changed is ${isChanged} (${text})`);
          wrong.push(...(await expected.lostRows(world, isChanged ? toggle : undefined)));
          // So that the next fault meets the way back.
          if (!isChanged) await done(change());
          await expected.turned(world, toggle);
        }
        console.log(
          `${point}: ${changesPerPoint} changes; ${statuses}; settled in ${Math.ceil(slowestMs)} ms at most`,
        );
        expect(wrong).toEqual([]);
        expect(statuses.except(200, 201, 204, 503)).toEqual([]);
      });
    }
  });
}

/** The rows that are written while servers are killed. */
function writeRows({ owner, data }: World, statuses: Tally) {
  const acknowledged: number[] = [];
  let last = 0;
  const path = `${data}/written`;
  return {
    acknowledged,
    /** Until the server is gone. */
    async write(): Promise<void> {
      for (;;) {
        const n = ++last;
        const answer = await owner.call('POST', path, { n }).catch(() => null);
        statuses.add(answer?.status ?? 'no answer');
        if (!answer) return;
        if (answer.status === 201) acknowledged.push(n);
      }
    },
    /** Of these, those that are not there exactly once. */
    async lost(wanted: readonly number[]): Promise<string[]> {
      const found = new Tally();
      for (let after = Math.min(...wanted) - 1, isMore = wanted.length > 0; isMore; ) {
        const page = await done(owner.call('GET', `${path}?n=gt.${after}&sort=n&per_page=200`));
        for (const { n } of page.data) found.add(n);
        isMore = page.data.length === 200;
        after = page.data.at(-1)?.n;
      }
      return wanted.filter((n) => found.count(n) !== 1).map((n) => `row ${n}: there ${found.count(n)} times`);
    },
  };
}

export interface KilledServers {
  kills: number;
  /** Servers with databases of their own, at the same time. */
  lanes?: number;
  /** The most changes of tables before a kill. */
  changesMax?: number;
  command?: string[];
}

export function killedServers(options: KilledServers): void {
  test('kill -9 during changes of tables: each is whole or not made, and no row is lost', async () => {
    const host = await startEmbedded({ env: { SVC_SEED: 'none' } });
    const { kills, lanes = 1 } = options;
    await Promise.all(
      Array.from({ length: lanes }, () => killAgainAndAgain(host, { ...options, kills: kills / lanes })),
    );
    await host.stop();
  });
}

async function killAgainAndAgain(
  host: RunningServer,
  { kills, changesMax, command }: KilledServers,
): Promise<void> {
  const random = newRandom();
  const urls = await twoDatabases(host);
  const env = { SVC_DATABASE_URL: urls.control, SVC_DATA_DATABASE_URL: urls.data, SVC_LOG_LEVEL: 'error' };
  const program = command ? { command } : {};
  let server = await startServer({ env, ...program });
  const databases = openTableDatabases(urls.control, urls.data);
  const world = await newWorld(server);
  const { owner, tables, toggles } = world;
  await done(owner.call('POST', tables, { name: 'written', columns: ['n:int'] }));
  toggles.push({
    name: 'column of written rows',
    on: () => owner.call('POST', `${tables}/written/columns`, JSON.stringify('added:int:7')),
    off: () => owner.call('DELETE', `${tables}/written/columns/added`),
  });
  const expected = new Expected();
  const [statuses, writes] = [new Tally(), new Tally()];
  const rows = writeRows(world, writes);
  const wrong: string[] = [];
  let [slowestMs, changes, killedAt, interrupted] = [0, 0, 0, 0];

  /** Until the server is gone. */
  async function changeTables(): Promise<void> {
    for (;;) {
      const { signal } = server;
      if (changes === killedAt) setTimeout(() => signal('SIGKILL'), random.below(60));
      const toggle = toggles[changes++ % toggles.length]!;
      const before = await databases.definition(world.appId);
      const change = expected.on.has(toggle.name) ? toggle.off : toggle.on;
      const answer = await change().catch(() => null);
      statuses.add(answer?.status ?? 'no answer');
      if (!answer) await restart();
      const isChanged = (await databases.definition(world.appId)) !== before;
      if (answer && isChanged !== answer.status < 300)
        wrong.push(`${toggle.name}: ${answer.status}, but changed is ${isChanged} (${answer.text})`);
      if (isChanged) await expected.turned(world, toggle);
      if (!answer) return;
    }
  }
  async function restart(): Promise<void> {
    await server.exited;
    if ((await databases.differences()).length > 0) interrupted++;
    server = await startServer({
      dataDir: server.dataDir,
      port: server.port,
      env: { ...env, SVC_SEED: 'none' },
      ...program,
    });
    slowestMs = Math.max(slowestMs, await settledMs(databases));
  }

  for (let kill = 0; kill < kills && wrong.length < 5; kill++) {
    killedAt = changes + random.below(changesMax ?? toggles.length);
    const from = rows.acknowledged.length;
    const writing = rows.write();
    await changeTables().catch(restart);
    await writing;
    wrong.push(...(await expected.lostRows(world)), ...(await rows.lost(rows.acknowledged.slice(from))));
  }
  wrong.push(...(await rows.lost(rows.acknowledged)));
  console.log(
    `kill -9: seed ${random.seed}; ${kills} kills, ${changes} changes, ${interrupted} left between the databases; ` +
      `${statuses}; ${rows.acknowledged.length} rows written, ${writes}; settled in ${Math.ceil(slowestMs)} ms at most`,
  );
  expect(wrong).toEqual([]);
  for (const tally of [statuses, writes]) expect(tally.except(200, 201, 204, 503, 'no answer')).toEqual([]);
  await databases.close();
  await server.stop();
}
