import { expect, test } from 'bun:test';
import { behind } from './support/database.ts';
import { newPageTemplate } from './support/git-repos.ts';
import { caller, newTenant } from './support/people.ts';
import { scaled, startEmbedded, Tally } from './support/rows-proof.ts';
import { until } from './support/until.ts';

/** Those that begin when the run is there: the two before them are done with its start. */
const steps = ['create_repo', 'seed_repo', 'connect', 'first_deploy'] as const;
const killsPerStep = scaled(1, 20);
const resumedSecondsMax = 40;

test(
  'kill -9 at each step of a bootstrap: every run ends, with one app, one repository and one deployment, resumed within 40 s',
  async () => {
    let server = await startEmbedded();
    const tenant = await newTenant(server);
    const template = await newPageTemplate(tenant);
    const { token } = tenant.member;
    const path = `${tenant.base}/bootstraps`;
    const [killedAt, states] = [new Tally(), new Tally()];
    let slowest = 0;
    for (const step of steps) {
      for (let kill = 0; kill < killsPerStep; kill++) {
        const call = caller(server, { authorization: `Bearer ${token}` });
        const slug = `b-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
        const { status, body: run } = await call('POST', path, { template, slug });
        expect(status).toBe(201);
        const reached = await until(
          `${step} is under way`,
          async () => {
            const { body: now } = await call('GET', `${path}/${run.id}`);
            const under = now.steps.find(({ state }: { state: string }) => state === 'running')?.name;
            return now.ended_at !== null || now.steps.some(isPast(step)) || under === step
              ? { under, now }
              : null;
          },
          60_000,
        );
        killedAt.add(reached.under ?? reached.now.step ?? reached.now.state);
        server.signal('SIGKILL');
        await server.exited;
        server = await startEmbedded({ dataDir: server.dataDir, port: server.port });
        const restarted = performance.now();
        const again = caller(server, { authorization: `Bearer ${token}` });
        const ended = await until(
          `run ${run.id} ends`,
          async () => {
            const { body: now } = await again('GET', `${path}/${run.id}`);
            return now.ended_at ? now : null;
          },
          120_000,
        );
        slowest = Math.max(slowest, (performance.now() - restarted) / 1000);
        states.add(ended.state);
        const database = behind(server);
        const [made] = await database.query(
          `select (select count(*)::int from svc.apps where slug = $1) as apps,
          (select count(*)::int from svc.git_host_repos where name = $1) as repositories,
          (select count(*)::int from svc.deployments d join svc.apps a on a.id = d.app_id where a.slug = $1) as deployments`,
          [slug],
        );
        await database.close();
        expect([step, ended.state, made]).toEqual([
          ...[step, 'done', { apps: 1, repositories: 1, deployments: 1 }],
        ]);
      }
    }
    console.log(`killed at ${killedAt}; ended ${states}; slowest ${slowest.toFixed(1)} s after the restart`);
    expect(slowest).toBeLessThan(resumedSecondsMax);
    await server.stop();
  },
  scaled(600_000, 7_200_000),
);

/** A step behind this one has begun: it was too quick to be seen. */
function isPast(step: (typeof steps)[number]) {
  const later: readonly string[] = steps.slice(steps.indexOf(step) + 1);
  return ({ name, state }: { name: string; state: string }) => later.includes(name) && state !== 'waiting';
}
