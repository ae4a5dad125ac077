import { describe, expect, test } from 'bun:test';
import { runsOpenMax } from '@svc/contract/runs.ts';
import { sql } from 'kysely';
import { codeOf } from '../../testing.ts';
import { cancelDeployment, restartApp } from '../deployments/deployments.ts';
import { testUrls } from '../deployments/testing.ts';
import { changeEnv } from '../env/env.ts';
import { until } from '../testing.ts';
import { cancelRun, createRun } from './runs.ts';
import { useRuns } from './testing.ts';

const { database, newWorld, nodeApp } = useRuns();

describe('a run', () => {
  test('has the build and the variables of the live deployment; exit code, output and audit are stored', async () => {
    const t = await newWorld();
    await t.mutate((ctx) =>
      changeEnv(ctx, { set: { GREETING: 'hello there' }, unset: [], environment: 'production' }, testUrls),
    );
    const live = await t.live(nodeApp('one'));
    const run = await t.run(
      'ls server.cjs; echo "to $HOME" >/dev/null; echo $SVC_APP_ID; echo aside >&2; exit 4',
    );
    expect(run).toMatchObject({
      state: 'failed',
      exit_code: 4,
      failure: 'The command ended with exit code 4.',
      deployment_id: live.id,
      created_by: t.owner.userId,
    });
    expect(await t.lines(run.id)).toEqual([
      ['stdout', 'server.cjs'],
      ['stdout', t.app.id],
      ['stderr', 'aside'],
    ]);
    const { rows } = await sql<{ action: string; changes: object }>`
      select action, changes from svc.audit_entries
      where app_id = ${t.app.id} and action like 'runs.%' order by seq`.execute(database.db);
    expect(rows.map(({ action }) => action)).toEqual(['runs.create', 'runs.end']);
    expect(JSON.stringify(rows[0]?.changes)).toContain('ls server.cjs');
    expect(JSON.stringify(rows[1]?.changes)).toMatch(/exit_code.*4/);
    // Values of the app's variables are hidden.
    const printed = await t.run('echo "$GREETING"');
    expect([printed.state, await t.lines(printed.id)]).toEqual(['succeeded', [['stdout', '***']]]);
  });

  test('is refused with the reason where the runtime cannot run it', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const runtime = { kind: 'process', refusesCommands: () => 'In a Docker Swarm …' } as const;
    const refusal = await t
      .mutate((ctx) => createRun(ctx, { command: 'ls', timeoutSeconds: 60 }, { runtime }))
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'runtime_unsupported', detail: 'In a Docker Swarm …' });
  });

  test('ends at its time limit, and when it is canceled', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const [late, canceled] = await Promise.all([t.run('sleep 100', 1), t.start('echo begun; sleep 100')]);
    expect(late).toMatchObject({
      state: 'failed',
      exit_code: null,
      failure: expect.stringContaining('time limit of 1 seconds'),
    });
    await t.prints(canceled.id, 'begun');
    await t.mutate((ctx) => cancelRun(ctx, { id: canceled.id }));
    expect(await t.ends(canceled.id)).toMatchObject({ state: 'canceled', exit_code: null });
    expect(await codeOf(t.mutate((ctx) => cancelRun(ctx, { id: late.id })))).toBe('not_cancelable');
  });

  test('that is lost with its server has failed, and is not run again', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const { id } = await t.start('echo begun; sleep 100');
    await t.prints(id, 'begun');
    await t.dropRunLease(id);
    expect(await t.ends(id)).toMatchObject({ state: 'failed', failure: expect.stringContaining('stopped') });
    const begun = (await t.lines(id)).filter(([, text]) => text === 'begun');
    expect(begun).toHaveLength(1);
  });

  test('needs a live process, and an app that runs', async () => {
    const t = await newWorld();
    const start = () => codeOf(t.start('true'));
    expect(await start()).toBe('nothing_deployed');
    await t.live(nodeApp('one'));
    await sql`update svc.apps set runtime = 'suspended' where id = ${t.app.id}`.execute(database.db);
    expect(await start()).toBe('app_suspended');
    await sql`update svc.apps set runtime = 'none', record = 'archived' where id = ${t.app.id}`.execute(
      database.db,
    );
    expect(await start()).toBe('app_not_active');
    const open = await newWorld();
    await open.live(nodeApp('one'));
    await sql`insert into svc.app_runs (id, tenant_id, app_id, command, timeout_seconds, state, created_at, lease_until)
      select gen_random_uuid(), ${open.tenant.id}, ${open.app.id}, 'true', 60, 'running', now(), now() + interval '1 day'
      from generate_series(1, ${runsOpenMax}::int)`.execute(database.db);
    expect(await codeOf(open.start('true'))).toBe('limit_reached');
  });
});

describe('a release command', () => {
  test('runs with the variables of the app before the new version is live, once for each build', async () => {
    const t = await newWorld();
    const source = nodeApp('one', {
      Procfile: 'web: node server.cjs\nrelease: echo "releasing $SVC_APP_ID" && pwd && touch here',
      'svc.yaml': '{}',
    });
    const live = await t.live(source);
    expect(live).toMatchObject({ state: 'live', start_with: { release: expect.stringContaining('touch') } });
    const { rows } = await sql<{ text: string }>`select text from svc.log_lines
      where deployment_id = ${live.id} and source = 'build' order by id`.execute(database.db);
    const texts = rows.map(({ text }) => text);
    expect(texts.indexOf(`releasing ${t.app.id}`)).toBeGreaterThan(0);
    expect(texts.indexOf(`releasing ${t.app.id}`)).toBeLessThan(texts.indexOf('Starting …'));
    const again = await t.mutate((ctx) => restartApp(ctx, testUrls));
    expect(await t.reaches(again.id, 'live', 'failed')).toMatchObject({ state: 'live' });
    const { rows: lines } = await sql`select from svc.log_lines
      where deployment_id = ${again.id} and text like '%releasing%'`.execute(database.db);
    expect(lines).toEqual([]);
  });

  test('that fails or is canceled stops the deployment: its last lines give advice, and the version before stays live', async () => {
    const t = await newWorld();
    await t.live(nodeApp('one'));
    const manifest = (release: string) => `start: node server.cjs\nrelease: ${release}\n`;
    const broken = manifest(`'echo "DATABASE_NAME is not set" >&2; exit 7'`);
    const failed = await t.live(nodeApp('two', { 'svc.yaml': broken }));
    expect(failed).toMatchObject({
      state: 'failed',
      failure_code: 'release_failed',
      failure_step: 'release',
    });
    expect(failed.failure_detail).toContain('exit code 7');
    expect(failed.failure_detail).toContain('svc env set DATABASE_NAME');
    expect(await t.responseText()).toBe('one');
    const slow = await t.deploy(nodeApp('slow', { 'svc.yaml': manifest('sleep 100') }));
    await until(
      () => t.row(slow.id),
      ({ step }) => step === 'release',
    );
    await t.mutate((ctx) => cancelDeployment(ctx, { id: slow.id }, testUrls));
    expect(await t.reaches(slow.id, 'canceled', 'failed')).toMatchObject({ state: 'canceled' });
    const procfile = { Procfile: 'release: exit 1', 'svc.yaml': manifest('false') };
    expect(await t.live(nodeApp('three', procfile))).toMatchObject({ state: 'live' });
    expect(
      await until(
        () => t.responseText(),
        (text) => text === 'three',
      ),
    ).toBe('three');
  });
});
