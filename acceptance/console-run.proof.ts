import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import {
  browserOf,
  complaintsOf,
  reasonOf,
  violationsOf,
  waitUntilLoaded,
} from './support/console/browsing.ts';

import { type ConsoleWorld, newBookingApp, newConsoleTenant, talkingApp } from './support/console/world.ts';
import { done } from './support/people.ts';
import { startEmbedded, temporaryFolder, withoutSandbox } from './support/server.ts';
import { repeatConcurrently } from './support/until.ts';

/** A build that prints its progress and continues when the file exists. */
function waitingBuild(gate: string): string {
  return `
const { existsSync } = require('node:fs');
console.log('the build waits');
const look = () => existsSync(${JSON.stringify(gate)}) ? console.log('the build continues') : setTimeout(look, 50);
look();
`;
}

describe.if(hasChromium)('an app that runs, in the console', () => {
  let world: Pick<ConsoleWorld, 'server' | 'tenant' | 'admin' | 'owner' | 'booking'>;
  let browser: BrowserContext;
  let page: Page;
  let complaints: string[];
  beforeAll(async () => {
    const server = await startEmbedded({ env: withoutSandbox });
    const tenant = await newConsoleTenant(server, 'Northwind');
    const { booking } = await newBookingApp(tenant);
    world = { server, tenant, admin: tenant.admin, owner: tenant.member, booking };
    browser = await browserOf(world.server, world.owner);
    page = await browser.newPage();
    complaints = complaintsOf(page);
  });
  afterAll(() => browser.close());

  const open = async (tab: string, on = page) => {
    await on.goto(`${world.server.baseUrl}/t/${world.tenant.slug}/apps/${world.booking.slug}/${tab}`);
    await waitUntilLoaded(on);
  };
  const confirm = (button: string) =>
    page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click();

  test('is deployed from its page, which follows the build until the app is live', async () => {
    const gate = join(temporaryFolder(), 'gate');
    world.booking.copy.write({ ...talkingApp('three'), 'build.js': waitingBuild(gate) });
    const commit = await world.booking.copy.push('next');

    await open('deployments');
    await page.getByLabel('Branch, tag or commit').fill('next');
    await page.getByRole('button', { name: 'Deploy now' }).click();
    await page.getByRole('dialog').getByText('the following changes will be made').waitFor();
    expect((await world.booking.deployments()).length).toBe(3);
    await confirm('Deploy');

    const log = page.getByRole('log', { name: /Build log/ });
    await log.getByText('the build waits').waitFor();
    expect(await log.getByText('the build continues').count()).toBe(0);
    // Log lines arrive before the record is fetched again.
    await page.getByText(commit).first().waitFor();
    const [under] = await world.booking.deployments();
    expect(under).toMatchObject({ state: 'building', commit });
    expect(page.url()).toContain(under!.id);
    expect(await violationsOf(page)).toEqual([]);

    writeFileSync(gate, '');
    chmodSync(gate, 0o644);
    await log.getByText('the build continues').waitFor();
    await page.getByRole('status').getByText('live', { exact: true }).waitFor();
    const cancel = page.getByRole('button', { name: 'Cancel' });
    expect(await cancel.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(cancel)).toContain('The deployment has ended.');
    await world.booking.answers('three', 10_000);
  });

  test('is scaled from its page, which shows the new instances', async () => {
    await open('deployments');
    const part = page.getByRole('region', { name: 'Process web' });
    await part.getByRole('textbox').fill('2');
    await part.getByRole('button', { name: 'Scale' }).click();
    await page.getByRole('dialog').getByText('the following changes will be made').waitFor();
    await confirm('Scale');
    const rows = part.getByRole('table').getByRole('row');
    await rows.filter({ hasText: 'ready' }).nth(1).waitFor();
    expect(await part.getByText('2 instances, set here or with svc apps scale').count()).toBe(1);
    await page.getByRole('region', { name: 'Process reminders' }).getByText('ready').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('shows new log lines without a reload, filtered by words and stream', async () => {
    await open('logs');
    const log = page.getByRole('log', { name: /Log of/ });
    await log.getByText('three begins').first().waitFor();
    const path = `/rooms/${Bun.randomUUIDv7().slice(-8)}`;
    await world.booking.ask(path);
    await log.getByText(`GET ${path}`).waitFor();

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByLabel('Search').fill('calendar');
    await log.getByText(path).waitFor({ state: 'detached' });
    await page.waitForURL(/q=calendar/);
    await page.getByLabel('Stream').selectOption('stdout');
    await log.getByText('No line matches.').waitFor();
    await page.goBack();
    await log
      .getByText(/no calendar is connected/)
      .first()
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('continues the log by itself when the server is back', async () => {
    const other = await browser.newPage();
    await other.route(/\/logs\?/, (route) => route.abort());
    await open('logs', other);
    await other.getByRole('heading', { name: 'Interrupted' }).waitFor();
    await other.unroute(/\/logs\?/);
    await other.getByRole('heading', { name: 'Live' }).waitFor();
    await other.getByRole('log').getByText('three begins').first().waitFor();
    await other.close();
  });

  test('counts new requests, and shows them in a table as well', async () => {
    await open('metrics');
    const total = () =>
      page.getByText('Requests', { exact: true }).locator('xpath=following-sibling::dd').innerText();
    const before = Number((await total()).replaceAll(',', ''));
    // More than can drop out of the hour's window meanwhile.
    await repeatConcurrently(120, 8, async (at) => void (await world.booking.ask(`/seen/${at}`)));
    await page.waitForFunction(
      (least) =>
        [...document.querySelectorAll('dd')].some(
          (each) =>
            each.previousElementSibling?.textContent === 'Requests' &&
            Number(each.textContent?.replaceAll(',', '')) >= least,
        ),
      before + 40,
    );
    await page.getByRole('button', { name: 'Latency as table' }).click();
    const table = page.getByRole('table', { name: 'Latency' });
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual(['Time', 'p50', 'p95', 'p99']);
    expect(await table.getByRole('row').count()).toBe(61);
    await page.getByRole('button', { name: 'Latency as chart' }).click();
    await page.getByText('7 days').click();
    await page.waitForURL(/range=7d/);
    await page.getByRole('heading', { name: 'The last 7 days' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  test('gets several variables by one previewed change, and never shows their values', async () => {
    await open('environment');
    await page.getByRole('button', { name: 'Paste .env text' }).click();
    await page.getByLabel('Lines of NAME=value').fill('# theirs\nCALENDAR_TOKEN="not to be seen"\nPORT=80\n');
    await page.getByText('Skipped, because the platform sets them').waitFor();
    await page.getByRole('button', { name: 'Add 1 variable' }).click();
    await page.getByRole('button', { name: 'Remove MODE' }).click();
    await page.getByRole('button', { name: 'Review changes' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('CALENDAR_TOKEN').waitFor();
    expect(await dialog.getByText('MODE').count()).toBe(1);
    expect(await dialog.getByText('not to be seen').count()).toBe(0);
    await confirm('Update');
    await page.getByRole('button', { name: 'Redeploy' }).waitFor();
    await page.getByRole('button', { name: 'Change CALENDAR_TOKEN' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    const { items } = await done(world.owner.call('GET', `${world.booking.base}/env`));
    const names = items.flatMap((each: { name: string; given_by: string }) =>
      each.given_by === 'app' ? [each.name] : [],
    );
    expect(names.sort()).toEqual(['CALENDAR_TOKEN', 'CALENDAR_URL', 'SMTP_PASSWORD']);
    expect(complaints).toEqual([]);
  });

  test('has variables of its previews, apart from its own', async () => {
    await open('environment');
    await page.getByText('Previews', { exact: true }).click();
    await page.waitForURL(/environment=preview/);
    await page.getByText('No variables').waitFor();
    await page.getByRole('button', { name: 'Add variable' }).click();
    await page.getByLabel('Name 1').fill('PREVIEW_ONLY');
    await page.getByLabel('Value 1').fill('yes');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Review changes' }).click();
    await confirm('Update');
    await page.getByRole('button', { name: 'Change PREVIEW_ONLY' }).waitFor();
    const namesIn = async (environment: string) => {
      const path = `${world.booking.base}/env?per_page=200&environment=${environment}`;
      return (await done(world.owner.call('GET', path))).items.map(({ name }: { name: string }) => name);
    };
    expect(await namesIn('preview')).toEqual(['PREVIEW_ONLY']);
    expect(await namesIn('production')).not.toContain('PREVIEW_ONLY');
  });

  test('shows an admin who is not an owner what they may not do, and why', async () => {
    const other = await browserOf(world.server, world.admin);
    const theirs = await other.newPage();
    await open('deployments', theirs);
    const deploy = theirs.getByRole('button', { name: 'Deploy now' });
    expect(await deploy.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(deploy)).toContain('Only its owner and its co-owners may do this.');
    await open('logs', theirs);
    await theirs.getByText('You have no access to the log').waitFor();
    await other.close();
  });
});
