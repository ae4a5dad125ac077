import { describe, expect, test } from 'bun:test';
import { hasChromium } from './support/chromium.ts';
import { browserOf } from './support/console/browsing.ts';
import { newConsoleTenant } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { startEmbedded } from './support/server.ts';

describe.if(hasChromium)('the API explorer', () => {
  test("shows the document of the app to who is signed in, from this server's files alone", async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Explorer');
    const { member: owner } = tenant;
    const app = await newApp(tenant, { owner }, { name: 'Shop' });
    await done(owner.call('POST', `${app.base}/tables`, { name: 'pets', columns: ['name:text'] }));
    await done(owner.call('POST', `/data/${tenant.slug}/${app.slug}/pets`, { name: 'Rex the dog' }));
    const browser = await browserOf(server, owner);
    const page = await browser.newPage();
    const [elsewhere, errors]: [string[], string[]] = [[], []];
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url());
      if (/^https?:$/.test(protocol) && origin !== new URL(server.baseUrl).origin)
        elsewhere.push(request.url());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) errors.push(message.text());
    });
    await page.goto(`${server.baseUrl}/explorer/${tenant.slug}/${app.slug}`);
    await page.getByRole('heading', { name: 'Shop' }).first().waitFor();
    await page.getByText('pets').first().waitFor();
    // What the explorer sends: the session of the console goes along, and the policy of the page allows it.
    const rows = await page.evaluate(
      async (path) => (await fetch(path)).json(),
      `/data/${tenant.slug}/${app.slug}/pets?select=name`,
    );
    expect(rows.data).toEqual([{ name: 'Rex the dog' }]);
    expect([elsewhere, errors]).toEqual([[], []]);
    await browser.close();
  });
});
