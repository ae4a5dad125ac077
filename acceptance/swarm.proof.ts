import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hasSwarm, type Swarm, startSwarm } from '../scripts/docker-swarm.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { done, newApp, newTenant, type Tenant } from './support/people.ts';
import { folderOf, type RunningServer, startServer, temporaryFolder } from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

/** The promise, however busy the machine is. */
const backMsMax = 30_000;

describe.if(hasSwarm)('apps in a Swarm of two nodes', () => {
  let swarm: Swarm;
  let server: RunningServer;
  let tenant: Tenant;
  let svc: Svc;
  beforeAll(async () => {
    swarm = await startSwarm(join(temporaryFolder(), 'swarm'));
    server = await startServer({
      env: {
        SVC_RUNTIME: 'docker',
        SVC_DOCKER_HOST: swarm.manager.host,
        SVC_DOCKER_ADDRESS: swarm.manager.address,
        SVC_DOCKER_BASE_IMAGE: swarm.manager.baseImage,
        SVC_DOCKER_SWARM: 'trusted-network',
        SVC_DOCKER_REGISTRY: swarm.registry,
      },
    });
    tenant = await newTenant(server);
    await done(tenant.admin.call('PATCH', tenant.base, { review_deployments: 'off' }));
    svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
  });
  afterAll(async () => {
    await server?.stop();
    await swarm?.stop();
  });

  /** Answers with the name of its node. */
  async function deployed(instances: number) {
    const app = await newApp(tenant, { owner: tenant.member }, { deploy_method: 'docker' });
    await setApp(server, app.id, { visibility: 'internet' });
    const files = {
      'svc.yaml': `start: node app.js\ninstances: ${instances}\n`,
      'app.js': `console.log('started');
require('node:http').createServer((_, response) => response.end('here')).listen(process.env.PORT, '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));`,
    };
    const said = await svc(['deploy', '--app', app.id, '--from-dir', folderOf(files), '--execute', '--json']);
    if (said.code !== 0) throw new Error(said.stderr);
    const ask = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.port}/`, {
        headers: { host: `${app.subdomain}.apps.localhost:${server.port}` },
        signal: AbortSignal.timeout(30_000),
      }).catch(() => null);
      return answer && `${answer.status} ${await answer.text()}`;
    };
    const containersOn = async ({ docker }: Swarm['manager']) =>
      (await docker('ps', '-q', '--filter', `label=svc.app=${app.id}`)).split('\n').filter(Boolean).length;
    const nodes = async () => [await containersOn(swarm.manager), await containersOn(swarm.worker)];
    return { ...app, ask, nodes };
  }

  test('survive the loss of a node: two instances without a failed request, one within 30 s', async () => {
    const double = await deployed(2);
    expect([await double.ask(), await double.nodes()]).toEqual(['200 here', [1, 1]]);
    const { stdout } = await svc(['logs', '--app', double.id]);
    expect(stdout.match(/started/g)).toHaveLength(2);
    const singles = [await deployed(1), await deployed(1)];
    const placed = await Promise.all(singles.map(({ nodes }) => nodes()));
    const single = singles[placed.findIndex(([, onWorker]) => onWorker === 1)];
    if (!single) throw new Error(`No app is on the second node: ${JSON.stringify(placed)}`);
    expect(await single.ask()).toBe('200 here');

    const seen = { answers: 0, slowestMs: 0, failed: [] as (string | null)[] };
    const asking = keepAsking(
      async () => {
        const began = performance.now();
        const answer = await double.ask();
        seen.slowestMs = Math.max(seen.slowestMs, Math.round(performance.now() - began));
        seen.answers++;
        if (answer !== '200 here') seen.failed.push(answer);
      },
      { clients: 4 },
    );
    await until('some are answered', async () => seen.answers > 20, 30_000);
    await swarm.cutWorker();
    const cutAt = performance.now();
    // The edge may have sent requests to the node that is gone.
    await until('it does not answer', async () => (await single.ask()) !== '200 here', 60_000);
    await until('the single one is back', async () => (await single.ask()) === '200 here', 120_000);
    const backMs = Math.round(performance.now() - cutAt);
    await until('both are on the first node', async () => (await double.nodes())[0] === 2, 120_000);
    await asking.stop();
    console.log(
      `a node was cut off: one instance back after ${backMs} ms; two: ${seen.answers} answers, ${seen.failed.length} failed, slowest ${seen.slowestMs} ms`,
    );
    expect(seen.failed).toEqual([]);
    expect(backMs).toBeLessThan(backMsMax);
  });
});
