import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { openFeed } from './support/change-feed.ts';
import { openServerDatabase, type ServerDatabase } from './support/database.ts';
import { bearer, type Call } from './support/people.ts';
import { newRandom } from './support/random.ts';
import { lines, ndjson, newTable, type RowsWorld, rowsWorld, Tally } from './support/rows.ts';
import { type RunningServer, startEmbedded } from './support/server.ts';
import { keepAsking } from './support/until.ts';

const minutes = Number(process.env.SVC_SOAK_MINUTES ?? 1);
const tenantsCount = 3;
const clients = 8;
/** A third of what two cores did beside much other work; beside less they did 6,500. */
const answersPerMinuteMin = 500;
const tableChangesPerMinuteMin = 10;
const sampleMs = Math.max(500, minutes * 1_000);

test(`a mixed load with faults for ${minutes} min: no answer is 5xx, and memory, files and connections stay flat`, async () => {
  const server = await startEmbedded();
  const database = openServerDatabase(server);
  const random = newRandom();
  const worlds = await mapConcurrently([...Array(tenantsCount).keys()], 4, () => rowsWorld(server));
  for (const world of worlds)
    await newTable(world, 'orders', ['n:int', 'name:text', 'paid:bool'], { changes: true });
  const tally = new Tally();
  const faults: string[] = [];
  const counted = async (what: string, answer: ReturnType<Call>, failsFrom = 500) => {
    const answered = await answer;
    tally.add(answered.status);
    if (answered.status >= failsFrom)
      faults.push(`${what}: ${answered.status} ${answered.text.slice(0, 200)}`);
    return answered;
  };
  let tableChanges = 0;
  const changeTable: TableChange = async (what, answer) => {
    await counted(what, answer, 300);
    tableChanges++;
  };
  const ids = new Map(worlds.map((world) => [world, [] as string[]]));

  /** One request of a random kind. */
  async function act(): Promise<void> {
    const world = random.pick(worlds);
    const known = ids.get(world)!;
    const path = `${world.data}/orders`;
    const id = known.length > 0 ? random.pick(known) : Bun.randomUUIDv7();
    const { call } = world.owner;
    const row = () => ({
      n: random.below(1_000),
      name: `order ${random.below(1_000)}`,
      paid: random.chance(0.5),
    });
    const kinds: [string, () => Promise<unknown>][] = [
      [
        'insert',
        async () => {
          const { body, status } = await counted('insert', call('POST', path, row()));
          if (status === 201) known.push(body.id);
          if (known.length > 500) known.splice(0, 250);
        },
      ],
      ['read', () => counted('read', call('GET', `${path}/${id}`))],
      ['list', () => counted('list', call('GET', `${path}?n=gt.${random.below(900)}&sort=-n&per_page=50`))],
      ['count', () => counted('count', call('GET', `${path}/_count?paid=is.true`))],
      ['sum', () => counted('sum', call('GET', `${path}/_aggregate?select=paid,total:n.sum()`))],
      ['update', () => counted('update', call('PATCH', `${path}/${id}`, row()))],
      ['delete', () => counted('delete', call('DELETE', `${path}/${id}`))],
      ['batch', () => counted('batch', call('POST', path, lines(random.times(20, row)), ndjson))],
      [
        'many',
        () => counted('many', call('DELETE', `${path}?n=gt.${990 + random.below(9)}&max_affected=1000`)),
      ],
      ['export', () => counted('export', call('GET', path, undefined, { accept: 'application/x-ndjson' }))],
      ['tables', () => counted('tables', call('GET', world.tables))],
      ['app', () => counted('app', call('GET', world.app.base))],
      ['plan', () => counted('plan', call('DELETE', `${world.tables}/orders?dry_run=true`))],
      ['malformed', () => counted('malformed', call('POST', path, '{"n":'))],
      ['unknown', () => counted('unknown', call('GET', `${path}?nothing=1`))],
    ];
    await random.pick(kinds)[1]();
  }

  const load = keepAsking(act, { clients, pauseMs: 25 });
  const faulty = keepAsking(() => fault(random.below(4), random.pick(worlds), changeTable), {
    pauseMs: 250,
  });
  const samples: Sample[] = [];
  const end = performance.now() + minutes * 60_000;
  while (performance.now() < end) {
    await Bun.sleep(sampleMs); // The pace of the samples.
    samples.push(await sample(server, database));
  }
  await faulty.stop();
  await load.stop();
  await database.close();
  console.log(`soak: seed ${random.seed}; ${tally}; ${tableChanges} changes of tables`);
  for (const name of ['megabytes', 'files', 'connections'] as const) {
    const { early, late } = compared(samples, name);
    console.log(`soak: ${name} ${early} in the second quarter, ${late} in the last`);
    expect([name, late]).toEqual([name, Math.min(late, early * 1.25 + (name === 'megabytes' ? 40 : 10))]);
  }
  expect(faults.slice(0, 5)).toEqual([]);
  expect(tally.count(200) + tally.count(201)).toBeGreaterThan(minutes * answersPerMinuteMin);
  expect(tableChanges).toBeGreaterThan(minutes * tableChangesPerMinuteMin);
  expect(await server.stop()).toBe(0);
});

type TableChange = (what: string, answer: ReturnType<Call>) => Promise<void>;

/** Things that happen to a server, of which its other clients must not notice anything. */
async function fault(kind: number, world: RowsWorld, changeTable: TableChange): Promise<void> {
  const path = `${world.data}/orders`;
  const { port, baseUrl } = world.server;
  const head = `Host: localhost\r\nAuthorization: Bearer ${world.owner.token}\r\n`;
  switch (kind) {
    // Clients that leave in the middle of a request, and of an answer.
    case 0:
      return leave(
        port,
        `POST ${path} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"n"`,
      );
    case 1:
      return leave(port, `GET ${path} HTTP/1.1\r\n${head}Accept: application/x-ndjson\r\n\r\n`);
    // A follower that comes and goes.
    case 2: {
      const feed = await openFeed(`${baseUrl}${path}/_changes`, bearer(world.owner));
      feed.cut();
      await feed.ended;
      return;
    }
    // A definition that changes while rows are read and written.
    default: {
      const { call } = world.owner;
      const columns = `${world.tables}/orders/columns`;
      const column = { name: 'extra', type: 'int', nullable: true };
      await changeTable('new column', call('POST', columns, column));
      await changeTable('dropped column', call('DELETE', `${columns}/${column.name}`));
    }
  }
}

function leave(port: number, text: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(text, () => setTimeout(() => socket.destroy(), 20)),
    );
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}

interface Sample {
  megabytes: number;
  files: number;
  connections: number;
}

async function sample({ pid }: RunningServer, database: ServerDatabase): Promise<Sample> {
  const [row] = await database.query(
    `select count(*)::int as connections from pg_stat_activity where backend_type = 'client backend'`,
  );
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    megabytes: Math.round(Number(resident) / 1024),
    files: readdirSync(`/proc/${pid}/fd`).length,
    connections: Number(row?.connections),
  };
}

/** Medians of the second and of the last quarter: in the first, caches and pools fill. */
function compared(samples: readonly Sample[], name: keyof Sample) {
  const quarter = Math.floor(samples.length / 4);
  const median = (of: readonly Sample[]) =>
    of.map((each) => each[name]).toSorted((a, b) => a - b)[of.length >> 1] ?? Number.NaN;
  return { early: median(samples.slice(quarter, 2 * quarter)), late: median(samples.slice(-quarter)) };
}
