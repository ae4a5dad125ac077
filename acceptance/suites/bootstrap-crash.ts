import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { admin } from '../support/commands.ts';
import { openServerDatabase } from '../support/database.ts';
import { newPageTemplate, newRepository } from '../support/git.ts';
import {
  type Call,
  caller,
  newPasswordUser,
  newTenant,
  type PasswordUser,
  type Person,
  type Tenant,
} from '../support/people.ts';
import { Tally } from '../support/rows.ts';
import { type RunningServer, startEmbedded, temporaryFolder } from '../support/server.ts';
import { answerLogin } from '../support/sign-in.ts';
import { until } from '../support/until.ts';

interface HostOutside {
  /** Settings for a server that uses this git host. */
  env: Record<string, string>;
  tenant: Tenant;
  /** A person with an account there, who can create repositories. */
  newAccount(): Promise<PasswordUser & Person>;
}

/** One server's git host, used by another server: people have to link their accounts. */
async function startHostOutside(): Promise<HostOutside> {
  const server = await startEmbedded();
  const tenant = await newTenant(server);
  const database = openServerDatabase(server);
  const [row] = await database.query("select value from svc.key_generations where name = 'git_host.app'");
  await database.close();
  const app = typeof row?.value === 'string' ? JSON.parse(row.value) : row?.value;
  const keyFile = join(temporaryFolder(), 'app.pem');
  writeFileSync(keyFile, app.privateKey, { mode: 0o600 });
  return {
    tenant,
    env: {
      SVC_GIT_HOST: 'github',
      SVC_GIT_HOST_URL: `${server.baseUrl}/git`,
      SVC_GIT_HOST_CLIENT_ID: app.clientId,
      SVC_GIT_HOST_APP_ID: String(app.appId),
      SVC_GIT_HOST_APP_SLUG: app.slug,
      SVC_GIT_HOST_PRIVATE_KEY_FILE: keyFile,
      SVC_GIT_HOST_WEBHOOK_SECRET: app.webhookSecret,
    },
    async newAccount() {
      const user = await newPasswordUser(server, tenant.slug);
      const { access_token } = await admin(server, ['tokens', 'issue', '--user', user.email]);
      const token = String(access_token);
      return { ...user, token, call: caller(server, { authorization: `Bearer ${token}` }) };
    },
  };
}

/** Approves the code at the host as that account, and polls the platform until the account is linked. */
async function linkBy(
  call: Call,
  base: string,
  code: { device_code: string; user_code: string; verification_uri: string },
  account: PasswordUser,
): Promise<void> {
  await answerLogin({ address: code.verification_uri, code: code.user_code }, account);
  await until(
    'the account is linked',
    async () => {
      const { device_code } = code;
      const { status, body } = await call('POST', `${base}/git-host/link/poll`, { device_code });
      if (status !== 200) throw new Error(`The code was refused: ${JSON.stringify(body)}`);
      return body.status === 'linked';
    },
    60_000,
  );
}

/** Steps that start once the run exists; the two before them end with its start. */
export const crashSteps = ['create_repo', 'seed_repo', 'connect', 'first_deploy'] as const;
type CrashStep = (typeof crashSteps)[number];

export function bootstrapCrash({
  steps,
  killsPerStep,
}: {
  steps: readonly CrashStep[];
  killsPerStep: number;
}): void {
  /** A step may be over before the kill arrives; then the test repeats with another run. */
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

  async function countCreated(server: RunningServer, slug: string) {
    const database = openServerDatabase(server);
    const [counts] = await database.query(
      `select (select count(*)::int from svc.apps where slug = $1) as apps,
      (select count(*)::int from svc.deployments d join svc.apps a on a.id = d.app_id where a.slug = $1) as deployments,
      (select count(*)::int from svc.git_host_repos where name = $1) as repositories`,
      [slug],
    );
    await database.close();
    return counts;
  }

  test.concurrent('kill -9 in each step of a bootstrap: every run ends, with one app, one repository and one deployment, resumed within 40 s', async () => {
    let server = await startEmbedded();
    const tenant = await newTenant(server);
    const template = await newPageTemplate(tenant);
    const [killedIn, states] = [new Tally(), new Tally()];
    let slowest = 0;
    for (const step of steps) {
      for (let tries = 0; killedIn.count(step) < killsPerStep && tries < triesMax; tries++) {
        const slug = newSlug();
        const { status, body } = await as(server, tenant)('POST', `${tenant.base}/bootstraps`, {
          template,
          slug,
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
        // The dead server's claim has not run out yet: the run is unchanged.
        killedIn.add(underWay(await look(server, tenant, body.id)) ?? 'between two steps');
        const { run, seconds } = await endOf(server, tenant, body.id);
        slowest = Math.max(slowest, seconds);
        states.add(run.state);
        expect([slug, run.state, await countCreated(server, slug)]).toEqual([
          slug,
          'done',
          { apps: 1, repositories: 1, deployments: 1 },
        ]);
      }
    }
    console.log(`killed in ${killedIn}; ended ${states}; slowest ${slowest.toFixed(1)} s after the restart`);
    for (const step of steps) expect([step, killedIn.count(step) >= killsPerStep]).toEqual([step, true]);
    expect(slowest).toBeLessThan(resumedSecondsMax);
    await server.stop();
  });

  /** A later step has started: this one was too quick to be observed. */
  function isPast(step: CrashStep) {
    const later: readonly string[] = crashSteps.slice(crashSteps.indexOf(step) + 1);
    return ({ name, state }: Step) => later.includes(name) && state !== 'waiting';
  }

  test.concurrent('kill -9 while a run waits for its approval, and just after it: the run continues, and creates everything once', async () => {
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
    expect(await countCreated(server, slug)).toMatchObject({ apps: 1, deployments: 1 });
    expect(await countCreated(host.tenant.server, slug)).toMatchObject({ repositories: 1 });
    expect(seconds).toBeLessThan(resumedSecondsMax);
    await server.stop();
  });
}
