import { expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type NodeApp, newNodeApp, nodeApp, processesOf, runsOf } from '../support/apps.ts';
import { openServerDatabase } from '../support/database.ts';
import { newTenant } from '../support/people.ts';
import { Tally } from '../support/rows.ts';
import { startEmbedded, temporaryFolder, withoutSandbox } from '../support/server.ts';
import { until } from '../support/until.ts';

export function deploymentsCrash({ rounds }: { rounds: number }): void {
  const endedSecondsMax = 40;
  const restartedSecondsMax = 40;

  test('kill -9 while one app is built and another released: both deployments end within 40 s, and every answer is a whole version', async () => {
    let server = await startEmbedded({ env: withoutSandbox });
    const tenant = await newTenant(server);
    const apps = await Promise.all(['building', 'releasing'].map(() => newNodeApp(tenant, nodeApp('v0'))));
    const [built, released] = apps as [NodeApp, NodeApp];
    await Promise.all(apps.map((app) => firstDeployed(app)));
    const [answers, killedIn, states] = [new Tally(), new Tally(), new Tally()];
    let [slowest, slowestReturn, slowestSwitch] = [0, 0, 0];
    let isDone = false;
    const asking = apps.map(async (app) => {
      while (!isDone) {
        answers.add(
          await app.ask().then(
            ({ status, text }) => (status === 200 ? `200 ${wholeness(text)}` : status),
            () => 'not reached',
          ),
        );
        await Bun.sleep(10);
      }
    });
    const restart = async (signal: 'SIGKILL' | 'SIGTERM') => {
      server.signal(signal);
      await server.exited;
      server = await startEmbedded({ dataDir: server.dataDir, port: server.port, env: withoutSandbox });
    };

    for (let round = 1; round <= rounds; round++) {
      // Both continue when the file exists: one builds until then, the other does not listen before.
      const gate = join(temporaryFolder(), 'gate');
      const version = `v${round}`;
      built.copy.write({
        ...nodeApp(version),
        'svc.yaml': `start: node server.js\nbuild: while [ ! -e ${gate} ]; do sleep 0.05; done\n`,
      });
      released.copy.write(nodeApp(version, { waitFor: gate }));
      const commits = await Promise.all(apps.map((app) => app.copy.push()));
      const begun = await until(
        'one is built, the other released',
        async () => {
          const [first] = await built.deployments();
          const [second] = await released.deployments();
          // Waits for a process, which the kill leaves behind.
          const isThere = runsOf(built).length === 2 && runsOf(released).length === 2;
          return first?.state === 'building' && second?.state === 'releasing' && isThere && [first, second];
        },
        40_000,
      );
      for (const { state } of begun) killedIn.add(state);
      const ofTheDead = apps.flatMap((app) => processesOf(app));
      expect(ofTheDead.length).toBeGreaterThanOrEqual(4);
      await restart('SIGKILL');
      writeFileSync(gate, '');
      chmodSync(gate, 0o644);
      const restarted = performance.now();
      // The live deployment answers again before the next one is ready.
      for (const app of apps)
        await until('it answers again', async () => (await app.ask()).status === 200, 40_000);
      slowestReturn = Math.max(slowestReturn, (performance.now() - restarted) / 1000);
      for (const [at, app] of apps.entries()) {
        const ended = await app.ended(begun[at]!, 120_000);
        slowest = Math.max(slowest, (performance.now() - restarted) / 1000);
        states.add(ended.state);
        expect(ended).toMatchObject({ state: 'live', commit: commits[at], failure: null });
        const live = performance.now();
        await app.answers(version);
        slowestSwitch = Math.max(slowestSwitch, performance.now() - live);
        // Processes of the dead server run neither beside the new ones nor instead of them.
        await until('one instance is left', async () => runsOf(app).length === 1, 40_000);
        const dead = new Set(ofTheDead.map(({ pid, run }) => `${pid} ${run}`));
        expect(processesOf(app).filter(({ pid, run }) => dead.has(`${pid} ${run}`))).toEqual([]);
      }
    }

    const before = await Promise.all(apps.map((app) => app.deployments()));
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const dead = new Set(apps.flatMap((app) => runsOf(app)));
      await restart(signal);
      const begun = performance.now();
      for (const app of apps) await app.answers(`v${rounds}`, restartedSecondsMax * 1000);
      slowestReturn = Math.max(slowestReturn, (performance.now() - begun) / 1000);
      await until('one instance each is left', async () => apps.every((app) => runsOf(app).length === 1));
      expect(apps.flatMap((app) => runsOf(app)).filter((run) => dead.has(run))).toEqual([]);
    }
    expect(await Promise.all(apps.map((app) => app.deployments()))).toEqual(before);
    isDone = true;
    await Promise.all(asking);

    const database = openServerDatabase(server);
    const instances = await database.query('select app_id, state from svc.app_instances order by app_id');
    await database.close();
    const expected = apps.map(({ id }) => ({ app_id: id, state: 'ready' }));
    expect(instances).toEqual(expected.sort((a, b) => (a.app_id < b.app_id ? -1 : 1)));
    console.log(
      `killed in ${killedIn}; ended ${states}, ${slowest.toFixed(1)} s after the restart at the slowest; ` +
        `apps back after ${slowestReturn.toFixed(1)} s; switched within ${slowestSwitch.toFixed(0)} ms; answers: ${answers}`,
    );
    expect(slowest).toBeLessThan(endedSecondsMax);
    // No process of an app answers before the app is started again.
    expect(answers.except('200 whole', 502, 503, 'not reached')).toEqual([]);
    await server.stop();
    expect(apps.flatMap((app) => processesOf(app))).toEqual([]);
  });

  /** An app deployed by its first push. */
  async function firstDeployed(app: NodeApp): Promise<void> {
    await app.copy.push();
    const first = await until('the push makes a deployment', async () => (await app.deployments())[0]);
    expect(await app.ended(first)).toMatchObject({ state: 'live' });
  }

  function wholeness(text: string): string {
    const [one, other] = text.split('/');
    return /^v\d+$/.test(one ?? '') && one === other ? 'whole' : `not whole: ${text}`;
  }
}
