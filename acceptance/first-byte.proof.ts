import { expect, test } from 'bun:test';
import { uploadSource } from './support/apps.ts';
import { done, newApp, newTenant } from './support/people.ts';
import { askSite, siteOf, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

const secondsDefault = 60;

test(`an answer that begins after ${secondsDefault} seconds arrives with timeouts.first_byte, and is a 504 without it`, async () => {
  const tenant = await newTenant();
  const owner = tenant.member;
  const ask = async (settings: string) => {
    const app = await newApp(tenant, { owner }, { deploy_method: 'docker' });
    const upload_id = await uploadSource(app, {
      'svc.yaml': `start: node server.js\n${settings}`,
      'server.js': `require('node:http').createServer(({ url }, response) =>
  setTimeout(() => response.end('late'), url === '/slow' ? ${(secondsDefault + 3) * 1_000} : 0)).listen(process.env.PORT);`,
    });
    const { id } = await done(owner.call('POST', `${app.base}/deployments`, { upload_id }));
    const state = async () => (await done(owner.call('GET', `${app.base}/deployments/${id}`))).state;
    await until('the app is live', async () => (await state()) === 'live', 60_000);
    const site = siteOf(tenant, app);
    const headers = { cookie: await visitorCookie(site, owner), accept: 'application/json' };
    await until('it answers', async () => (await askSite(site, '/', { headers })).status === 200);
    const { status, text } = await askSite(site, '/slow', { headers });
    return [status, status === 200 ? text : JSON.parse(text).code];
  };
  expect(await Promise.all([ask('timeouts: { first_byte: 2m }\n'), ask('')])).toEqual([
    [200, 'late'],
    [504, 'app_timeout'],
  ]);
});
