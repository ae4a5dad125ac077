import { beforeAll, expect, test } from 'bun:test';
import { type Deployment, type NodeApp, newNodeApp, nodeApp, nodeAppOf, runsOf } from './support/apps.ts';
import { newRepository, webhookSender } from './support/git.ts';
import { done, newTenant, type Tenant } from './support/people.ts';
import { Tally } from './support/rows.ts';
import { type RunningServer, sharedEmbedded } from './support/server.ts';

import { keepAsking, until } from './support/until.ts';

const clients = 8;

/** Its `package.json` makes detection classify it as an app with a process. */
const templateFiles = {
  ...nodeApp('one'),
  'package.json': JSON.stringify({ name: 'app', private: true, scripts: { start: 'node server.js' } }),
};

let server: RunningServer;
let tenant: Tenant;
let template: string;
beforeAll(async () => {
  server = await sharedEmbedded();
  tenant = await newTenant(server);
  const repo = await newRepository(tenant, tenant.admin, templateFiles);
  const made = await done(tenant.admin.call('POST', `${tenant.base}/templates`, { repo, name: 'A server' }));
  expect(made.deploy_method).toBe('docker');
  template = made.id;
});

/** An app from `svc apps bootstrap`: deployed, with a connected repository. */
async function bootstrappedApp(): Promise<NodeApp> {
  const slug = `p-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
  const runs = `${tenant.base}/bootstraps`;
  const { id } = await done(tenant.member.call('POST', runs, { template, slug }));
  const run = await until(
    'the bootstrap ends',
    async () => {
      const now = await done(tenant.member.call('GET', `${runs}/${id}`));
      return now.ended_at === null ? null : now;
    },
    60_000,
  );
  expect(run).toMatchObject({ state: 'done', failure: null });
  const app = await done(tenant.member.call('GET', `${tenant.base}/apps/${slug}`));
  return nodeAppOf(tenant, { app, repo: run.repo });
}

/** An app that is connected, and deployed by its first push. */
async function pushedApp(): Promise<NodeApp> {
  const app = await newNodeApp(tenant, nodeApp('one'));
  expect(await app.ended(await deploymentOf(app, await app.copy.push()))).toMatchObject({ state: 'live' });
  await app.answers('one');
  return app;
}

const deploymentOf = (app: NodeApp, commit: string) =>
  until(
    `${commit} is fetched`,
    async () => (await app.deployments()).find((each) => each.commit === commit),
    40_000,
  );

interface Socket {
  /** The reply to a message; null: the socket is closed. */
  send(text: string): Promise<string | null>;
  close(): void;
}

function openSocket(app: NodeApp): Promise<Socket> {
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/socket`, {
    headers: { host: app.authority, cookie: app.cookie },
  } as never);
  let answered = (_text: string | null) => {};
  socket.onmessage = ({ data }) => answered(String(data));
  socket.onclose = () => answered(null);
  const opened = Promise.withResolvers<Socket>();
  socket.onerror = () => opened.reject(new Error('The socket could not be opened.'));
  socket.onopen = () =>
    opened.resolve({
      close: () => socket.close(),
      send: (text) => {
        if (socket.readyState !== WebSocket.OPEN) return Promise.resolve(null);
        const { promise, resolve } = Promise.withResolvers<string | null>();
        answered = resolve;
        socket.send(text);
        return promise;
      },
    });
  return opened.promise;
}

test('a push goes live under load from 8 clients and an open WebSocket, and no request fails', async () => {
  const app = await bootstrappedApp();
  await app.answers('one');
  const [answers, messages] = [new Tally(), new Tally()];
  const ask = async () =>
    answers.add(
      await app.ask().then(
        ({ status, text }) => `${status} ${text}`,
        (error: Error) => `failed: ${error.message}`,
      ),
    );
  const asking = keepAsking(ask, { clients, pauseMs: 25 });
  const socket = await openSocket(app);
  let sent = 0;
  const talking = keepAsking(async () => {
    const message = `message ${sent++}`;
    const reply = await socket.send(message);
    messages.add(reply?.endsWith(` ${message}`) ? reply.split(' ')[0]! : `not answered: ${reply}`);
  });
  app.copy.write(nodeApp('two'));
  const pushedAt = performance.now();
  const deployment = await app.ended(await deploymentOf(app, await app.copy.push()));
  const seconds = (performance.now() - pushedAt) / 1000;
  expect(deployment).toMatchObject({ state: 'live', trigger: 'push', failure: null });
  await until('the new version answers', async () => answers.count('200 two/two') > 100);
  await Promise.all([asking.stop(), talking.stop()]);
  // Open sockets stay with the old release, and new ones get the new release.
  expect(await socket.send('still there')).toBe('one still there');
  const next = await openSocket(app);
  expect(await next.send('hello')).toBe('two hello');
  socket.close();
  await until('the old instance ends', async () => runsOf(app).length === 1, 40_000);
  expect(await next.send('and now')).toBe('two and now');
  next.close();

  console.log(
    `${clients} clients: ${answers}; messages: ${messages}; live ${seconds.toFixed(1)} s after the push`,
  );
  expect(answers.except('200 one/one', '200 two/two')).toEqual([]);
  expect(messages.except('one')).toEqual([]);
  expect(answers.count('200 one/one')).toBeGreaterThan(100);
});

test('after two quick pushes the newest is live; a push to another branch deploys nothing', async () => {
  const app = await pushedApp();
  app.copy.write(nodeApp('two'));
  await app.copy.push();
  app.copy.write(nodeApp('three'));
  const commit = await app.copy.push();
  const newest = await app.ended(await deploymentOf(app, commit));
  expect(newest).toMatchObject({ state: 'live', trigger: 'push' });
  await until('nothing is worked on', async () => (await app.deployments()).every(hasEnded));
  expect((await app.deployments())[0]).toMatchObject({ state: 'live', commit });
  await app.answers('three');

  const before = await app.deployments();
  app.copy.write(nodeApp('elsewhere'));
  await app.copy.push('elsewhere');
  const noted = await until('the push is recorded', async () => {
    const { last_push } = await done(app.owner.call('GET', `${app.base}/git`));
    return last_push?.branch === 'elsewhere' && last_push;
  });
  expect(noted).toMatchObject({ outcome: 'other_branch', deployment_id: null });
  expect(await app.deployments()).toEqual(before);
});

test('a delivery counts once and only with its signature; after a failed build the old version serves', async () => {
  const app = await pushedApp();
  const sendWebhook = await webhookSender(server);
  const { connection } = await done(app.owner.call('GET', `${app.base}/git`));
  const payload = {
    ref: 'refs/heads/main',
    after: 'c'.repeat(40),
    repository: { id: connection.repo_id, full_name: connection.repo },
  };
  const count = async () => (await app.deployments()).length;
  const before = await count();
  for (const signature of ['', 'sha256=', `sha256=${'0'.repeat(64)}`, 'sha1=00'])
    expect([signature, (await sendWebhook({ payload, signature })).status]).toEqual([signature, 401]);
  expect(await count()).toBe(before);

  const id = Bun.randomUUIDv7();
  expect((await sendWebhook({ payload, id })).status).toBe(202);
  expect(await count()).toBe(before + 1);
  const again = await Promise.all(Array.from({ length: 5 }, () => sendWebhook({ payload, id })));
  expect(again.map(({ status, body }) => [status, body.noted])).toEqual(Array(5).fill([200, 0]));
  expect(await count()).toBe(before + 1);
  await until('it has ended', async () => (await app.deployments()).every(hasEnded), 40_000);
  // The build uses the branch as it is, not the commit of the delivery.
  expect((await app.ask()).text).toBe('one/one');

  const answers = new Tally();
  const asking = keepAsking(async () => answers.add((await app.ask()).text));
  app.copy.write({ ...nodeApp('broken'), 'svc.yaml': 'start: node server.js\nbuild: exit 4\n' });
  const failed = await app.ended(await deploymentOf(app, await app.copy.push()));
  await asking.stop();
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'build_failed', step: 'build' } });
  expect(Object.keys(answers.counts)).toEqual(['one/one']);
});

const hasEnded = ({ state }: Deployment) => !['queued', 'building', 'built', 'releasing'].includes(state);
