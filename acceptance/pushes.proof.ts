import { expect, test } from 'bun:test';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { partsOf, startSupervised } from './suites/supervised-apps.ts';
import { run } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { git, mustGit, newEmptyRepository, pageFiles, remoteOf } from './support/git.ts';
import { newApp, newTenant, type Tenant } from './support/people.ts';
import { newRandom, type Random } from './support/random.ts';
import { folderOf, type RunningServer } from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

const pushesMin = 500;
const appsCount = 5;
const pushesBetweenRestarts = 60;
const commitsCount = 2 * pushesMin;
/** Of the same app: after so many, a push without an answer is recorded itself, or contained in one that has an outcome. */
const laterPushesMax = 2;

interface Pushed {
  commit: string;
  output: string;
}

test('each accepted push has its deployment or a reason, also beside connect, disconnect and restarts', async () => {
  const random = newRandom();
  const server = await startSupervised();
  const tenant = await newTenant(server);
  const seen = { accepted: 0, failed: 0, restarts: 0 };
  const apps = await mapConcurrently([...Array(appsCount).keys()], 4, () => newCopy(tenant));
  const isReady = () =>
    fetch(`${server.baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const restarting = keepAsking(
    async () => {
      if (seen.accepted < pushesBetweenRestarts * (seen.restarts + 1)) return;
      const { server: pid } = partsOf(server);
      if (seen.restarts++ % 2 === 0) server.signal('SIGHUP');
      else process.kill(pid, 'SIGKILL');
      await until('the server answers', isReady, 60_000);
    },
    { pauseMs: 100 },
  );
  const walks = apps.map((app) => pushAround(tenant, app, { seen, random, isReady }));
  await Promise.all(walks);
  await restarting.stop();
  for (const app of apps) await pushLast(tenant, app);

  const hasAnswer = ({ output }: Pushed) => /Deployment #\d+ of|Not deployed/.test(output);
  const pushed = apps.flatMap((app) => app.pushed.map((push) => ({ ...push, app })));
  console.log(
    `seed ${random.seed}: ${pushed.length} pushes accepted, ${pushed.filter((push) => !hasAnswer(push)).length} of them without an answer, ${seen.failed} refused or cut off, ${seen.restarts} restarts`,
  );
  // Each deployment that a push has printed exists.
  const deployments = await rowsOf(server, tenant, 'select app_id, seq from svc.deployments');
  const known = new Set(deployments.map(({ app_id, seq }) => `${app_id} ${seq}`));
  const missing = pushed.flatMap(({ app, commit, output }) =>
    [...output.matchAll(/Deployment #(\d+) of/g)].flatMap(([, seq]) =>
      known.has(`${app.appId} ${seq}`) ? [] : [`${commit}: ${output}`],
    ),
  );
  expect(missing).toEqual([]);
  // A push whose answer was lost is recorded with the next one of its repository, or by a job.
  const recorded = await rowsOf(server, tenant, 'select app_id, commit_sha from svc.git_pushes');
  const commits = new Set(recorded.map(({ app_id, commit_sha }) => `${app_id} ${commit_sha}`));
  const unanswered = pushed.filter((push) => !hasAnswer(push));
  // A killed server leaves at most the push that it has just accepted from each app.
  expect(unanswered.length).toBeLessThanOrEqual(Math.floor(seen.restarts / 2) * appsCount);
  const hasOutcome = ({ app, commit }: Pushed & { app: Copy }) => {
    const at = app.pushed.findIndex((push) => push.commit === commit);
    // Each commit contains those before it, also where the app was connected or disconnected meanwhile.
    return app.pushed
      .slice(at, at + 1 + laterPushesMax)
      .some((push, later) => commits.has(`${app.appId} ${push.commit}`) || (later > 0 && hasAnswer(push)));
  };
  expect(unanswered.filter((push) => !hasOutcome(push)).map(({ commit }) => commit)).toEqual([]);
  // The last commit of each app is live, and nothing hangs.
  const isOver = async () =>
    (
      await rowsOf(
        server,
        tenant,
        'select id from svc.deployments',
        "and state not in ('live', 'superseded', 'failed', 'canceled', 'skipped')",
      )
    ).length === 0;
  await until('every deployment has ended', isOver, 120_000);
  const live = await rowsOf(
    server,
    tenant,
    'select app_id, commit_sha from svc.deployments',
    "and state = 'live'",
  );
  expect(new Map(live.map(({ app_id, commit_sha }) => [app_id, commit_sha]))).toEqual(
    new Map(apps.map(({ appId, pushed }) => [appId, pushed.at(-1)?.commit])),
  );
  expect(pushed.length).toBeGreaterThanOrEqual(pushesMin);
  expect(await server.stop()).toBe(0);
});

const rowsOf = (server: RunningServer, { id }: Tenant, select: string, more = '') =>
  queryDatabase(server, `${select} where tenant_id = $1 ${more}`, [id]);

type Copy = Awaited<ReturnType<typeof newCopy>>;

async function newCopy(tenant: Tenant) {
  const { member } = tenant;
  const { id: appId, base } = await newApp(tenant, { owner: member }, { deploy_method: 'static' });
  const repo = await newEmptyRepository(tenant, member);
  const folder = folderOf({});
  await mustGit(['init', '-q', '-b', 'main'], folder);
  // All commits at once: a commit takes git as long as a push.
  const history = [...Array(commitsCount).keys()].map((at) => commitText(at));
  const made = await run(['git', 'fast-import', '--quiet'], { cwd: folder, stdin: history.join('') });
  if (made.code !== 0) throw new Error(`git fast-import ended with ${made.code}: ${made.stderr}`);
  const commits = (await mustGit(['rev-list', '--reverse', 'main'], folder)).split('\n');
  return {
    appId,
    base,
    repo,
    folder,
    remote: remoteOf(tenant, member, repo),
    commits,
    pushed: [] as Pushed[],
    refused: '',
  };
}

function commitText(at: number): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const [[name, content]] = Object.entries(pageFiles) as [[string, string]];
  const file = at === 0 ? `M 100644 inline ${name}\n${data(content)}` : '';
  return `commit refs/heads/main\ncommitter Someone <someone@example.test> ${1_700_000_000 + at} +0000\n${data(`Change ${at}`)}${file}\n`;
}

async function push(app: Copy): Promise<boolean> {
  const { folder, remote, commits, pushed } = app;
  const commit = commits.shift() ?? '';
  const { code, stderr } = await git(['push', remote, `${commit}:refs/heads/main`], folder);
  if (code === 0) pushed.push({ commit, output: stderr });
  else app.refused = stderr;
  return code === 0;
}

const connect = ({ member }: Tenant, { base, repo }: Copy) => member.call('POST', `${base}/git`, { repo });

/** Pushes, and now and then connects or disconnects at the same moment. */
async function pushAround(
  tenant: Tenant,
  app: Copy,
  options: {
    seen: { accepted: number; failed: number };
    random: Random;
    isReady: () => Promise<boolean>;
  },
): Promise<void> {
  const { member } = tenant;
  const { seen, random, isReady } = options;
  let isConnected = false;
  while (seen.accepted < pushesMin) {
    const change = async () => {
      if (random.chance(0.7)) return;
      const call = isConnected ? member.call('DELETE', `${app.base}/git`) : connect(tenant, app);
      await call.catch(() => null);
      const status = () => member.call('GET', `${app.base}/git`).catch(() => null);
      const { body } = await until(
        'the server says whether it is connected',
        async () => {
          const answer = await status();
          return answer?.status === 200 && answer;
        },
        60_000,
      );
      isConnected = body.connected;
    };
    const [isAccepted] = await Promise.all([push(app), change()]);
    if (isAccepted) seen.accepted++;
    else {
      seen.failed++;
      await until('the server answers', isReady, 60_000);
    }
  }
}

/** With the app connected: its output names the deployment. */
async function pushLast(tenant: Tenant, app: Copy): Promise<void> {
  await until('the app is connected', async () => (await connect(tenant, app)).status < 300, 60_000);
  await until('a push is accepted', () => push(app), 60_000).catch((error: Error) => {
    throw new Error(`${error.message} ${app.refused}`);
  });
  expect(app.pushed.at(-1)?.output).toMatch(/Deployment #\d+ of/);
}
