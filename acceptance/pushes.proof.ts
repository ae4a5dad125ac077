import { expect, test } from 'bun:test';
import { partsOf, startSupervised } from './suites/supervised-apps.ts';
import { queryDatabase } from './support/database.ts';
import { git, mustGit, newEmptyRepository, pageFiles, remoteOf } from './support/git.ts';
import { newApp, newTenant, type Tenant } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { keepAsking, mapConcurrently, until } from './support/until.ts';

const pushesMin = 500;
const appsAtOnce = 6;
const pushesBetweenRestarts = 40;

interface Pushed {
  appId: string;
  commit: string;
  output: string;
  /** Before and after the push. */
  wasConnected: boolean;
}

test('each accepted push has its deployment or a reason, also beside connect, disconnect and restarts', async () => {
  const server = await startSupervised();
  const tenant = await newTenant(server);
  const seen = { accepted: [] as Pushed[], failed: 0, restarts: 0 };
  const apps = await mapConcurrently([...Array(appsAtOnce).keys()], () => newCopy(tenant));
  const isReady = () =>
    fetch(`${server.baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const restarting = keepAsking(
    async () => {
      if (seen.accepted.length < pushesBetweenRestarts * (seen.restarts + 1)) return;
      const { server: pid } = partsOf(server);
      if (seen.restarts++ % 2 === 0) server.signal('SIGHUP');
      else process.kill(pid, 'SIGKILL');
      await until('the server answers', isReady, 60_000);
    },
    { pauseMs: 200 },
  );
  await mapConcurrently(apps, (app) => pushAround(tenant, app, { seen, isReady }), appsAtOnce);
  await restarting.stop();

  const told = ({ output }: Pushed) => /Deployment #\d+ of|Not deployed/.test(output);
  const rows = () =>
    queryDatabase(
      server,
      'select app_id, commit_sha, outcome, deployment_id from svc.git_pushes where tenant_id = $1',
      [tenant.id],
    );
  // A push that was not recorded at once is recorded with the next one of its repository, or by a job.
  const withoutTrace = async () => {
    const known = new Set((await rows()).map((row) => `${row.app_id} ${row.commit_sha}`));
    return seen.accepted.filter(
      (push, at) =>
        push.wasConnected &&
        !told(push) &&
        !seen.accepted.some(
          (later, index) =>
            index >= at && later.appId === push.appId && known.has(`${later.appId} ${later.commit}`),
        ),
    );
  };
  const isOver = async () =>
    (
      await queryDatabase(
        server,
        `select count(*)::int as open from svc.deployments where tenant_id = $1
        and state not in ('live', 'superseded', 'failed', 'canceled', 'skipped')`,
        [tenant.id],
      )
    )[0]?.open === 0;
  await until('every push has a trace', async () => (await withoutTrace()).length === 0, 120_000).catch(
    () => {},
  );
  await until('every deployment has ended', isOver, 300_000);
  const deployments = (await rows()).filter(({ outcome }) => outcome === 'deployed');
  console.log(
    `${seen.accepted.length} pushes accepted, ${seen.accepted.filter((push) => !told(push)).length} of them without an answer, ${seen.failed} refused or cut off, ${seen.restarts} restarts, ${deployments.length} deployments`,
  );
  expect(await withoutTrace()).toEqual([]);
  expect(deployments.filter(({ deployment_id }) => deployment_id === null)).toEqual([]);
  expect(seen.accepted.length).toBeGreaterThanOrEqual(pushesMin);
  expect(await server.stop()).toBe(0);
});

type Copy = Awaited<ReturnType<typeof newCopy>>;

async function newCopy(tenant: Tenant) {
  const { member } = tenant;
  const { id: appId, base } = await newApp(tenant, { owner: member }, { deploy_method: 'static' });
  const repo = await newEmptyRepository(tenant, member);
  const folder = folderOf(pageFiles);
  await mustGit(['init', '-q', '-b', 'main'], folder);
  await mustGit(['add', '-A'], folder);
  return { appId, base, repo, folder, remote: remoteOf(tenant, member, repo) };
}

/** Commits and pushes, and now and then connects or disconnects at the same moment. */
async function pushAround(
  { member }: Tenant,
  { appId, base, repo, folder, remote }: Copy,
  { seen, isReady }: { seen: { accepted: Pushed[]; failed: number }; isReady: () => Promise<boolean> },
): Promise<void> {
  let isConnected = false;
  while (seen.accepted.length < pushesMin) {
    await mustGit(['commit', '-q', '--allow-empty', '-m', 'A change'], folder);
    const commit = await mustGit(['rev-parse', 'HEAD'], folder);
    const wasConnected = isConnected;
    const change = async () => {
      if (Math.random() < 0.7) return true;
      const call = isConnected
        ? member.call('DELETE', `${base}/git`)
        : member.call('POST', `${base}/git`, { repo });
      await call.catch(() => null);
      const status = () => member.call('GET', `${base}/git`).catch(() => null);
      const { body } = await until(
        'the server says whether it is connected',
        async () => {
          const answer = await status();
          return answer?.status === 200 && answer;
        },
        60_000,
      );
      isConnected = body.connected;
      return false;
    };
    const [pushed, isSame] = await Promise.all([git(['push', remote, 'main'], folder), change()]);
    if (pushed.code === 0)
      seen.accepted.push({ appId, commit, output: pushed.stderr, wasConnected: wasConnected && isSame });
    else {
      seen.failed++;
      await until('the server answers', isReady, 60_000);
    }
  }
}
