import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { newRandom } from '../../acceptance/support/random.ts';
import { Tally } from '../../acceptance/support/rows.ts';
import { patientMs } from '../../scripts/patience.ts';
import { tableDefinitions } from './admin/doctor/app-databases.ts';
import type { DatabaseFacts } from './admin/doctor/check.ts';
import { openControlDatabase } from './core/db.ts';
import {
  type CrashPoint,
  type CrashWorld,
  commitPoints,
  crashTimes,
  filledRows,
  leavesIntent,
  stepsCount,
} from './data/tables/crash-testing.ts';
import { pollIntents } from './data/tables/table-intents.ts';
import { insertRow, newTestTables, openSecondDatabase, qualifiedTableName } from './data/tables/testing.ts';
import { query, runBun, temporaryFolder } from './drivers/database/testing.ts';
import { testDeps, useTestDatabase } from './testing.ts';

/** At commits, the same number at each point. A third as many are at random statements. */
const commitKills = Number(process.env.SVC_TEST_TABLE_KILLS ?? 150);
const atOnce = 4;
/** The promise, however busy the machine is. */
const settledMsMax = 10_000;
const random = newRandom();

const database = useTestDatabase();

test('kill -9 while tables change in two databases: the next server finishes each change, and no row is lost', async () => {
  console.log(`kill -9: seed ${random.seed}`);
  const second = await openSecondDatabase(database);
  const control = openControlDatabase(database.url, { connectionsMax: 2, onError: () => {} });
  const facts = { control, database: { rowsUrl: second.url } } as DatabaseFacts;
  if (tableDefinitions.needs !== 'database') throw new Error('The check needs a database.');
  const { run: compare } = tableDefinitions;
  const apps = await Promise.all(Array.from({ length: atOnce }, newCrashWorld));
  const unfinished = async (): Promise<string[]> =>
    (
      await query(
        database.url,
        'select unnest(app_ids)::text as app from svc.table_intents where undone_at is null',
      )
    ).map(({ app }) => app);
  const [killed, interrupted] = [new Tally(), new Tally()];
  let [changes, slowestMs] = [0, 0];

  async function newCrashWorld() {
    const t = await newTestTables(database, second.rows);
    const base = await t.table('base', ['n:int', 's:text:nullable']);
    for (let n = 1; n <= filledRows; n++) {
      const [id, at] = [`00000000-0000-7000-8000-00000000000${n}`, new Date(0)];
      await insertRow(second, t, base, { 1: id, 2: n, 3: `row ${n}`, 4: at, 5: at });
    }
    const world: CrashWorld = {
      controlUrl: database.url,
      dataUrl: second.url,
      epoch: second.epoch,
      tenant: t.tenant,
      owner: t.owner,
      app: t.app,
    };
    return { world, t, base, hasFilledExtra: false };
  }

  // A change has about twenty statements.
  const randomStatement = (): CrashPoint => ({
    of: 'statement',
    nth: 1 + random.below(60),
    when: random.pick(crashTimes),
  });
  const ordered = [
    ...random.times(commitKills, (at) => commitPoints[at % commitPoints.length]!),
    ...random.times(commitKills / 3, randomStatement),
  ];
  const points = random.some(ordered, ordered.length);

  const program = await bundled('data/tables/crash-testing.ts');
  const start = ({ world }: { world: CrashWorld }) => {
    const point = points.pop() ?? randomStatement();
    const run = runBun(
      `const { changeTablesUntil } = require(${JSON.stringify(program.path)});
       changeTablesUntil(${JSON.stringify(point)}, ${random.below(stepsCount)}, ${JSON.stringify(world)});`,
    );
    return { ...run, point };
  };

  /** Reads what the process has answered until it is gone. */
  async function runUntilKilled(app: (typeof apps)[number], child: ReturnType<typeof start>): Promise<void> {
    await child.line();
    child.send('go');
    for (;;) {
      const line = await child.line().catch(() => null);
      if (line === null) break;
      if (line !== 'filled') changes++;
      if (line === 'filled') app.hasFilledExtra = true;
      if (line === 'drop_table extra') app.hasFilledExtra = false;
    }
    const { errors } = await child.ended;
    expect(errors).toBe('');
    expect(child.child.signalCode).toBe('SIGKILL');
  }

  /** A statement that was sent is executed, and a transaction ended, some time after the process is gone. */
  async function untilDisconnected(): Promise<void> {
    const busy = (url: string) =>
      query(
        url,
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend' and state <> 'idle'`,
      );
    while ((await busy(database.url)).length + (await busy(second.url)).length > 0) await Bun.sleep(5);
  }

  async function lostRows({ t, base, hasFilledExtra }: (typeof apps)[number]): Promise<string[]> {
    const count = async (table: { id: string }) =>
      (await query(second.url, `select count(*)::int as rows from ${qualifiedTableName(t.app, table)}`))[0]
        .rows;
    const extra = await t.call('GET', '/extra');
    return [
      ...((await count(base)) === filledRows ? [] : ['base']),
      // It may be dropped by the change whose answer is missing.
      ...(extra.status === 404 || !hasFilledExtra || (await count(extra.body)) === filledRows
        ? []
        : ['extra']),
    ];
  }

  let next = apps.map(start);
  while (next.length > 0) {
    const running = next;
    const dying = Promise.all(apps.map((app, at) => runUntilKilled(app, running[at]!)));
    next = points.length === 0 ? [] : apps.map(start);
    await dying;
    const since = performance.now();
    await untilDisconnected();
    const open = await unfinished();
    for (const [at, { point }] of running.entries()) {
      const hasIntent = open.includes(apps[at]!.world.app.id);
      killed.add(pointName(point));
      if (hasIntent) interrupted.add(pointName(point));
      expect([pointName(point), hasIntent]).toEqual([pointName(point), leavesIntent(point) ?? hasIntent]);
    }
    // As the next server does when it starts.
    const stopPolling = pollIntents({ ...testDeps, ...second, db: database.db, rowsDb: second.db });
    let found = '';
    do {
      found = (await unfinished()).length > 0 ? 'unfinished changes' : (await compare(facts)).detail;
    } while (!found.endsWith('as defined.') && performance.now() - since < patientMs(settledMsMax));
    slowestMs = Math.max(slowestMs, performance.now() - since);
    await stopPolling();
    expect(found).toEndWith('as defined.');
    for (const app of apps) {
      expect(await lostRows(app)).toEqual([]);
      if ((await app.t.call('GET', '/extra')).status === 404) app.hasFilledExtra = false;
    }
  }
  console.log(
    `kill -9: ${killed}; ${changes} changes answered, left open: ${interrupted}; settled in ${Math.ceil(slowestMs)} ms at most`,
  );
  for (const point of commitPoints)
    expect(killed.count(pointName(point))).toBeGreaterThanOrEqual(
      Math.floor(commitKills / commitPoints.length),
    );
  expect(slowestMs).toBeLessThan(settledMsMax);
  await control.close();
  await second.close();
  await program.remove();
});

const pointName = ({ of, nth, when }: CrashPoint) => (of === 'statement' ? of : `${of} ${nth} ${when}`);

/** The sources would be read and compiled for each process. */
async function bundled(source: string) {
  const { path, remove } = temporaryFolder();
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, source)],
    outdir: path,
    target: 'bun',
    format: 'cjs',
    bytecode: true,
  });
  const program = outputs.find(({ kind }) => kind === 'entry-point');
  if (!program) throw new Error(`${source} was not bundled.`);
  return { path: program.path, remove };
}
