import { expect, test } from 'bun:test';
import { newNodeApp, nodeApp } from './support/apps.ts';
import { done, newTenant } from './support/people.ts';
import { sharedEmbedded } from './support/server.ts';
import { askHost } from './support/sites.ts';
import { until } from './support/until.ts';

test('publishing a running app: a new version ends the request, an approval opens the app to all', async () => {
  const tenant = await newTenant(await sharedEmbedded());
  const app = await newNodeApp(tenant, nodeApp('one'));
  const requests = `${app.base}/publication-requests`;
  const decide = (id: string, move: string) =>
    tenant.admin.call('POST', `${tenant.base}/publication-requests/${id}/${move}`, {});
  const early = await app.owner.call('POST', requests, { visibility: 'internet' });
  expect([early.status, early.body.code]).toEqual([409, 'nothing_deployed']);

  await app.copy.push();
  const first = await until(
    'the first version is live',
    async () => (await app.deployments()).find(({ state }) => state === 'live'),
    60_000,
  );
  const asked = await done(app.owner.call('POST', requests, { visibility: 'internet', note: 'One' }));
  expect(asked).toMatchObject({ status: 'pending', deployment_id: first.id });

  app.copy.write(nodeApp('two'));
  await app.copy.push();
  const second = await until(
    'the second version is live',
    async () => (await app.deployments()).find(({ id, state }) => id !== first.id && state === 'live'),
    60_000,
  );
  expect(await done(app.owner.call('GET', `${tenant.base}/publication-requests/${asked.id}`))).toMatchObject({
    status: 'superseded',
  });
  const late = await decide(asked.id, 'approve');
  expect([late.status, late.body.code]).toEqual([409, 'stale_deployment']);
  const gone = await app.owner.call('POST', requests, { visibility: 'internet', deployment_id: first.id });
  expect([gone.status, gone.body.code]).toEqual([409, 'stale_deployment']);

  const again = await done(
    app.owner.call('POST', requests, { visibility: 'internet', deployment_id: second.id }),
  );
  const host = app.authority.replace(/:\d+$/, '');
  const visitor = () => askHost(tenant.server, host, '/', { headers: { accept: 'text/html' } });
  expect((await visitor()).status).toBe(303);
  await done(decide(again.id, 'approve'));
  await until('everybody is let in', async () => (await visitor()).text === 'two/two', 30_000);
  expect(await done(app.owner.call('GET', app.base))).toMatchObject({
    visibility: 'internet',
    review_status: 'approved',
  });
});
