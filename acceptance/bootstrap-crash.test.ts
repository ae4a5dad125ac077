import { expect, test } from 'bun:test';
import { behind } from './support/database.ts';
import { newPageTemplate, newRepository } from './support/git-repos.ts';
import { linkBy, startHostOutside } from './support/host-outside.ts';
import { caller, newTenant, type Tenant } from './support/people.ts';
import { scaled, startEmbedded, Tally } from './support/rows-proof.ts';
import type { RunningServer } from './support/server.ts';
import { until } from './support/until.ts';

/** Those that begin when the run is there: the two before them are done with its start. */
const allSteps = ['create_repo', 'seed_repo', 'connect', 'first_deploy'] as const;
/** In the usual run the two that do most outside: each kill costs the time that a dead server's claim takes to run out. */
const steps = scaled(2, 4) === 4 ? allSteps : (['seed_repo', 'first_deploy'] as const);
const killsPerStep = scaled(1, 20);
/** A step may be over before the kill arrives; then it is tried with another run. */
const triesMax = killsPerStep * 6;
const resumedSecondsMax = 40;

const newSlug = () => `b-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
type Step = { name: string; state: string };
const underWay = (run: { steps: Step[] }) => run.steps.find(({ state }) => state === 'running')?.name;
const as = (server: RunningServer, { member }: Tenant) =>
  caller(server, { authorization: `Bearer ${member.token}` });

async function killed(server: RunningServer, env: Record<string, string> = {}): Promise<RunningServer> {
  server.signal('SIGKILL');
  await server.exited;
  return startEmbedded({ dataDir: server.dataDir, port: server.port, env });
}

const look = async (server: RunningServer, tenant: Tenant, id: string) =>
  (await as(server, tenant)('GET', `${tenant.base}/bootstraps/${id}`)).body;

/** The run when it has ended, and after how many seconds. */
async function endOf(server: RunningServer, tenant: Tenant, id: string) {
  const begun = performance.now();
  const what = `run ${id} ends`;
  const run = await until(
    what,
    async () => {
      const now = await look(server, tenant, id);
      return now.ended_at ? now : null;
    },
    120_000,
  );
  return { run, seconds: (performance.now() - begun) / 1000 };
}

async function made(server: RunningServer, slug: string) {
  const database = behind(server);
  const [counts] = await database.query(
    `select (select count(*)::int from svc.apps where slug = $1) as apps,
      (select count(*)::int from svc.deployments d join svc.apps a on a.id = d.app_id where a.slug = $1) as deployments,
      (select count(*)::int from svc.git_host_repos where name = $1) as repositories`,
    [slug],
  );
  await database.close();
  return counts;
}

test(
  'kill -9 in each step of a bootstrap: every run ends, with one app, one repository and one deployment, resumed within 40 s',
  async () => {
    let server = await startEmbedded();
    const tenant = await newTenant(server);
    const template = await newPageTemplate(tenant);
    const [killedIn, states] = [new Tally(), new Tally()];
    let slowest = 0;
    for (const step of steps) {
      for (let tries = 0; killedIn.count(step) < killsPerStep && tries < triesMax; tries++) {
        const slug = newSlug();
        const { status, body } = await as(server, tenant)('POST', `${tenant.base}/bootstraps`, {
          ...{ template, slug },
        });
        expect(status).toBe(201);
        await until(
          `${step} is under way`,
          async () => {
            const now = await look(server, tenant, body.id);
            return now.ended_at !== null || now.steps.some(isPast(step)) || underWay(now) === step;
          },
          60_000,
        );
        server = await killed(server);
        // The dead server's claim has not run out yet: the run stands as it was left.
        killedIn.add(underWay(await look(server, tenant, body.id)) ?? 'between two steps');
        const { run, seconds } = await endOf(server, tenant, body.id);
        slowest = Math.max(slowest, seconds);
        states.add(run.state);
        expect([slug, run.state, await made(server, slug)]).toEqual([
          ...[slug, 'done', { apps: 1, repositories: 1, deployments: 1 }],
        ]);
      }
    }
    console.log(`killed in ${killedIn}; ended ${states}; slowest ${slowest.toFixed(1)} s after the restart`);
    for (const step of steps) expect([step, killedIn.count(step) >= killsPerStep]).toEqual([step, true]);
    expect(slowest).toBeLessThan(resumedSecondsMax);
    await server.stop();
  },
  scaled(900_000, 14_400_000),
);

/** A step behind this one has begun: it was too quick to be seen. */
function isPast(step: (typeof allSteps)[number]) {
  const later: readonly string[] = allSteps.slice(allSteps.indexOf(step) + 1);
  return ({ name, state }: Step) => later.includes(name) && state !== 'waiting';
}

test('kill -9 while a run waits for its approval, and when it has just been given: it goes on, and makes everything once', async () => {
  const host = await startHostOutside();
  const { env } = host;
  let server = await startEmbedded({ env });
  const tenant = await newTenant(server);
  const [adder, starter] = [await host.newAccount(), await host.newAccount()];
  const { admin } = tenant;
  const link = await admin.call('POST', `${tenant.base}/git-host/link`);
  expect(link.status).toBe(201);
  await linkBy(admin.call, tenant.base, link.body, adder);
  const repo = await newRepository(host.tenant, adder);
  const added = await admin.call('POST', `${tenant.base}/templates`, { repo, name: 'A page' });
  expect(added.status).toBe(201);

  const slug = newSlug();
  const path = `${tenant.base}/bootstraps`;
  const wish = { template: added.body.id, slug, git_host_owner: host.tenant.slug };
  const { status, body: begun } = await as(server, tenant)('POST', path, wish);
  expect([status, begun.state]).toEqual([201, 'awaiting_approval']);
  server = await killed(server, env);
  expect(await look(server, tenant, begun.id)).toMatchObject({ state: 'awaiting_approval', app_id: null });

  await linkBy(as(server, tenant), tenant.base, begun.approval, starter);
  server = await killed(server, env);
  const left = await look(server, tenant, begun.id);
  const { run, seconds } = await endOf(server, tenant, begun.id);
  console.log(
    `killed in ${underWay(left) ?? 'no step'} after the approval; ended ${seconds.toFixed(1)} s later`,
  );
  expect(run).toMatchObject({ state: 'done', repo: `${host.tenant.slug}/${slug}` });
  expect(await made(server, slug)).toMatchObject({ apps: 1, deployments: 1 });
  expect(await made(host.tenant.server, slug)).toMatchObject({ repositories: 1 });
  expect(seconds).toBeLessThan(resumedSecondsMax);
  await server.stop();
}, 600_000);
