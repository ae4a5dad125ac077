import { afterAll, beforeAll } from 'bun:test';
import { sql } from 'kysely';
import { listenForChanges } from '../../core/invalidation.ts';
import { silentLog } from '../../testing.ts';
import { type DeploymentServer, type DeployWorld, testUrls, useDeployments } from '../deployments/testing.ts';
import { readLastLines } from '../logs/log-lines.ts';
import { until } from '../testing.ts';
import { createCallTracker } from './call-app.ts';
import { findRunRow, listRunRows, type RunRow } from './run-records.ts';
import { createRun } from './runs.ts';
import { startRuns } from './worker.ts';

/** The server of `useDeployments`, which also runs commands and schedules. */
export function useRuns({ now = () => new Date(), servers = 1 } = {}) {
  const deployments = useDeployments();
  const { database, server } = deployments;
  let stops: (() => Promise<void>)[] = [];
  const start = async ({ deps }: Pick<DeploymentServer, 'deps'>) => {
    const changes = listenForChanges({ url: database.url, log: silentLog });
    const calls = createCallTracker();
    const runs = startRuns({ ...deps, urls: testUrls, calls, now }, changes);
    await changes.start();
    return async () => {
      await changes.stop();
      await runs.stop();
    };
  };
  beforeAll(async () => {
    stops = await Promise.all(Array.from({ length: servers }, () => start(server)));
  });
  afterAll(() => Promise.all(stops.map((stop) => stop())));
  return {
    ...deployments,
    async newWorld() {
      return withRuns(deployments, await deployments.newWorld());
    },
  };
}

function withRuns({ database: { db } }: Pick<ReturnType<typeof useDeployments>, 'database'>, t: DeployWorld) {
  const row = async (id: string) => {
    const found = await findRunRow(db, t.appRef, id);
    if (!found) throw new Error(`No run ${id}.`);
    return found;
  };
  const ends = (id: string) =>
    until(
      () => row(id),
      ({ ended_at }) => ended_at !== null,
    );
  const start = (command: string, timeoutSeconds = 60) =>
    t.mutate((ctx) => createRun(ctx, { command, timeoutSeconds }, testUrls));
  const lines = (id: string) => readLastLines(db, { ...t.appRef, source: 'run', deploymentId: id }, 1_000);
  return {
    ...t,
    runRow: row,
    ends,
    start,
    run: async (command: string, timeoutSeconds?: number) => ends((await start(command, timeoutSeconds)).id),
    prints: async (id: string, text: string) =>
      until(
        () => lines(id),
        (all) => all.some((line) => line.text === text),
      ),
    lines: async (id: string) => (await lines(id)).map(({ stream, text }) => [stream, text]),
    /** Newest first. */
    runsOf: async (schedule: string): Promise<RunRow[]> =>
      (await listRunRows(db, t.appRef, { schedule, window: { limit: 1_000, offset: 0 } })).rows,
    /** As if the server that runs it had died. */
    dropRunLease: (id: string) =>
      sql`update svc.app_runs set lease_until = now() - interval '1 second', lease_holder = gen_random_uuid()
        where id = ${id}`.execute(db),
  };
}
