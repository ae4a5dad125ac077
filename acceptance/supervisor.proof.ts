import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { newIdentifiedApp, pollAddress, startSupervised } from './suites/supervised-apps.ts';
import { hasPostgres15, startPostgres15 } from './support/postgres15.ts';
import { postmasterOf, type RunningServer } from './support/server.ts';
import { askSite, newRelease, newSite, setVisibility, visitorCookie } from './support/sites.ts';
import { keepAsking } from './support/until.ts';

const awayMs = Number(process.env.SVC_TEST_OUTAGE_SECONDS ?? 60) * 1_000;
/** Between two requests: this state lasts, so that few of them show it. */
const pauseMs = 100;

/** The limits of statements that operators have by default. */
const env = { SVC_DATABASE_PATIENCE: '1' };

test('apps and sites are served as before while the database does not answer, and afterwards', async () => {
  const server = await startSupervised(env);
  const begin = async () => {
    const postmaster = postmasterOf(server);
    const all = [postmaster, ...childrenOf(postmaster)];
    signal(all, 'SIGSTOP');
    return async () => signal(all, 'SIGCONT');
  };
  await askDuringOutage({ server, begin });
});

test.if(hasPostgres15)(
  'apps and sites are served as before while an own database refuses connections, and afterwards',
  async () => {
    const postgres = await startPostgres15();
    const server = await startSupervised({ ...env, SVC_DATABASE_URL: postgres.url('postgres') });
    const begin = async () => {
      await postgres.stop();
      return postgres.start;
    };
    await askDuringOutage({ server, begin });
    await postgres.stop();
  },
);

/** `begin` takes the database away; what it returns brings it back. */
async function askDuringOutage({
  server,
  begin,
}: {
  server: RunningServer;
  begin: () => Promise<() => Promise<void>>;
}) {
  const app = await newIdentifiedApp(server);
  const open = await newDeployedSite(server);
  await setVisibility(open, 'internet');
  const signedIn = await newDeployedSite(server);
  const cookie = await visitorCookie(signedIn, signedIn.owner);
  const shown = {
    app: app.ask,
    open: () => askSite(open, '/'),
    signedIn: () => askSite(signedIn, '/', { headers: { cookie } }),
  };
  const answers = { app: 0, open: 0, signedIn: 0 };
  const unexpected: string[] = [];
  for (const ask of Object.values(shown)) expect((await ask()).status).toBe(200);
  const process = await app.askInstance();
  const asking = pollAddress(app.address, pauseMs);
  const end = await begin();
  const startedAt = performance.now();
  const visiting = (['app', 'open', 'signedIn'] as const).map((name) =>
    keepAsking(
      async () => {
        const { status, text } = await shown[name]();
        answers[name]++;
        const seconds = Math.round((performance.now() - startedAt) / 1000);
        if (status !== 200) unexpected.push(`${name} after ${seconds} s: ${status} ${text}`);
      },
      { pauseMs },
    ),
  );
  await Bun.sleep(awayMs);
  await end();
  // Long enough for three health checks of the instance.
  await Bun.sleep(15_000);
  await Promise.all(visiting.map(({ stop }) => stop()));
  expect(unexpected).toEqual([]);
  expect(Math.min(...Object.values(answers))).toBeGreaterThan(100);
  expect(await app.ask()).toMatchObject({ status: 200, text: process });
  const asked = await asking.stop();
  console.log(
    `the database was away for ${awayMs / 1000} s: ${asked.answers} answers, ${asked.failed} failed`,
  );
  expect([asked.failed, asked.texts]).toEqual([0, [process]]);
  expect(await server.stop()).toBe(0);
}

async function newDeployedSite(server: RunningServer) {
  const site = await newSite(server);
  await newRelease(site, { 'index.html': '<p>hello' }, { on_finalize: 'deploy' });
  return site;
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // A connection that has ended.
    }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) \S /s, '')
          .startsWith(`${parent} `);
      } catch {
        return false;
      }
    })
    .map(Number);
}
