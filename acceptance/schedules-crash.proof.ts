import { expect, test } from 'bun:test';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { nodeApp, uploadSource } from './support/apps.ts';
import { createDatabase, databaseUrlOf, queryUrl } from './support/database.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { newRandom } from './support/random.ts';
import { Tally } from './support/rows.ts';
import { startEmbedded, startServer, temporaryFolder, withoutSandbox } from './support/server.ts';
import { until } from './support/until.ts';

/** The server of the run was killed, or, for a request, that of the instance which was answering it. */
const lostText = 'The server that ran it has stopped; it is not run again.';
const closedText =
  'POST /hook failed: the app closed the connection before it had answered; it is not run again.';
/** An instance ends with its server, but a moment later. */
const endMsMax = 2_000;

const seconds = Number(process.env.SVC_TEST_CRASH_SECONDS ?? 60);

/** Beside the kills, servers start and the schedules catch up. */
const testMsMax = patientMs(seconds * 3_000 + 180_000);

interface Run {
  id: string;
  schedule: string;
  state: string;
  due: number;
  failure: string | null;
  /** Milliseconds. Null: it was never started. */
  started: number | null;
  ended: number;
}

async function killAtRandom(): Promise<void> {
  const random = newRandom();
  console.log(`schedules crash: seed ${random.seed}`);
  const host = await startEmbedded({ env: { SVC_SEED: 'none' } });
  const url = await createDatabase(databaseUrlOf(host), 'schedules');
  const env = { ...withoutSandbox, SVC_DATABASE_URL: url, SVC_LOG_LEVEL: 'warn' };
  const first = await startServer({ env });
  const { dataDir } = first;
  const servers = [first, await startServer({ dataDir, env: { ...env, SVC_SEED: 'none' } })];
  const tenant = await newTenant(first);
  const owner = tenant.member;
  const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
  const marks = join(temporaryFolder(), 'marks');
  writeFileSync(marks, '');
  chmodSync(marks, 0o666);
  const files = nodeApp('one');
  const hook = `const { appendFileSync } = require('node:fs');
server.on('request', (request) => request.method === 'POST' &&
  appendFileSync(${JSON.stringify(marks)}, request.headers['x-svc-run'] + '\\n'));`;
  const upload_id = await uploadSource(app, {
    ...files,
    'server.js': `${files['server.js']}\n${hook}`,
    'svc.yaml': `start: node server.js
schedules:
  - { name: command, cron: "0 0 1 1 *", run: "echo $SVC_RUN_ID >>${marks}" }
  - { name: request, cron: "0 0 1 1 *", path: /hook }
`,
  });
  const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
  await until(
    'the app is live',
    async () => (await done(owner.call('GET', `${app.base}/deployments/${id}`))).state === 'live',
    120_000,
  );
  // svc.yaml allows nothing finer than a minute.
  await queryUrl(
    url,
    "update svc.app_schedules set cron = '* * * * * *', next_at = date_trunc('second', now())",
  );
  const from = Date.now();
  let end = Number.POSITIVE_INFINITY;
  const kills: number[] = [];
  const killing = servers.map(async (_, at) => {
    while (Date.now() < end) {
      await Bun.sleep(1_000 + random.below(6_000));
      const server = servers[at]!;
      kills.push(Date.now());
      server.signal('SIGKILL');
      await server.exited;
      // On another port: this one is anybody's while the server is away.
      servers[at] = await startServer({ dataDir, env: { ...env, SVC_SEED: 'none' } });
    }
  });
  // On a slow machine, servers that start take the time of runs.
  await until(
    'runs have succeeded between the kills',
    async () => {
      const [{ least } = {}] = await queryUrl(
        url,
        `select least(count(*) filter (where schedule = 'command'), count(*) filter (where schedule = 'request'))::int as least
         from svc.app_runs where state = 'succeeded'`,
      );
      return Date.now() >= from + seconds * 1_000 && kills.length > 5 && Number(least) > 5;
    },
    seconds * 3_000,
  );
  end = Date.now();
  await Promise.all(killing);
  await until(
    'the schedules have caught up',
    async () => {
      const [{ next } = {}] = await queryUrl(url, 'select min(next_at) as next from svc.app_schedules');
      return new Date(next as string).getTime() >= end;
    },
    60_000,
  );
  await queryUrl(url, 'update svc.app_schedules set next_at = null');
  const list = async () =>
    (await queryUrl(
      url,
      `select id, schedule, state, failure, extract(epoch from due_at)::int as due,
         extract(epoch from started_at)::float8 * 1000 as started, extract(epoch from ended_at)::float8 * 1000 as ended
       from svc.app_runs order by due_at`,
    )) as unknown as Run[];
  await until(
    'all runs have ended',
    async () => (await list()).every(({ state }) => !['queued', 'running'].includes(state)),
    60_000,
  );
  const ran = Map.groupBy(readFileSync(marks, 'utf8').split('\n').filter(Boolean), (run) => run);
  const all = await list();
  for (const name of ['command', 'request']) {
    const runs = all.filter(({ schedule }) => schedule === name);
    const states = new Tally();
    for (const { state } of runs) states.add(state);
    const failed = runs.filter(({ state }) => state === 'failed');
    const lost = failed.filter(({ failure }) => failure === lostText);
    console.log(
      `${name}: ${runs.length} seconds, ${states} (${lost.length} with the server), ${kills.length} kills`,
    );
    const [from = 0] = runs.map(({ due }) => due);
    expect(runs.map(({ due }) => due)).toEqual(runs.map((_, at) => from + at));
    expect(runs.length).toBeGreaterThanOrEqual(seconds - 2);
    expect(states.except('succeeded', 'missed', 'skipped', 'failed')).toEqual([]);
    expect(runs.filter(({ state }) => state === 'succeeded').length).toBeGreaterThan(5);
    // A run fails if a kill falls into it, and for no other reason.
    const reasons = name === 'command' ? [lostText] : [lostText, closedText];
    const isHit = ({ started, ended, failure }: Run) =>
      reasons.includes(failure ?? '') &&
      kills.some((at) => started !== null && at > started - endMsMax && at < ended);
    expect(failed.filter((run) => !isHit(run))).toEqual([]);
    // A schedule has one run at a time, so that a kill hits at most one.
    expect(failed.length).toBeLessThanOrEqual(kills.length);
    for (const { id: run, state } of runs) {
      const times = ran.get(run)?.length ?? 0;
      if (state === 'succeeded') expect([run, times]).toEqual([run, 1]);
      else if (state !== 'failed') expect([run, state, times]).toEqual([run, state, 0]);
    }
  }
  expect(kills.length).toBeGreaterThan(5);
  expect([...ran.values()].every((times) => times.length === 1)).toBe(true);
  for (const server of [...servers, host]) await server.stop();
}

test(
  'kill -9 of two servers at random: each second of a schedule runs once, or is shown as missed, skipped or lost',
  killAtRandom,
  testMsMax,
);
