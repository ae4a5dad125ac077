import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { type Eater, type Lunch, newLunch } from './support/lunch.ts';
import { done } from './support/people.ts';
import { startEmbedded } from './support/server.ts';

describe.if(hasChromium)('three people order lunch in a browser', () => {
  let lunch: Lunch;
  let url: string;
  const browsers: BrowserContext[] = [];
  beforeAll(async () => {
    lunch = await newLunch(await startEmbedded());
    ({ url } = await done(lunch.owner.call('GET', lunch.app.base)));
  });
  afterAll(() => Promise.all(browsers.map((browser) => browser.close())));

  /** Opens the link of the app, signs in to see it, and signs in to the app. */
  async function come(person: Eater): Promise<Page> {
    const browser = await openChromium({ width: 900, height: 700 });
    browsers.push(browser);
    const page = await browser.newPage();
    await page.goto(url);
    await signInAt(page, person);
    await page.getByRole('heading', { name: 'Lunch' }).waitFor();
    const own = page.getByText(person.email);
    const signIn = page.getByRole('button', { name: 'Sign in' });
    const allow = page.getByRole('button', { name: 'Allow' });
    await signIn.click();
    await own.or(allow).first().waitFor();
    if (await allow.isVisible()) await allow.click();
    await own.waitFor();
    return page;
  }

  const orders = (page: Page) => page.locator('#orders li span').allTextContents();
  const refused = (page: Page, code: string) =>
    page
      .getByRole('alert')
      .filter({ hasText: `Refused: ${code}` })
      .waitFor();

  test('everybody reads the menu, people change their own orders, and the manager sees all with names', async () => {
    const mona = await come(lunch.mona);
    for (const [dish, price] of [
      ['Soup', '5'],
      ['Cake', '3'],
    ] as const) {
      await mona.getByLabel('Dish').fill(dish);
      await mona.getByLabel('Price').fill(price);
      await mona.getByRole('button', { name: 'Add to the menu' }).click();
      await mona.getByText(`${dish}, ${price}`).waitFor();
    }

    const ada = await come(lunch.ada);
    await ada.getByText('Soup, 5').waitFor();
    await ada.getByRole('button', { name: 'Remove Soup' }).click();
    await refused(ada, 'forbidden');
    await ada.getByLabel('Dish').fill('Free lunch');
    await ada.getByLabel('Price').fill('0');
    await ada.getByRole('button', { name: 'Add to the menu' }).click();
    await refused(ada, 'forbidden');
    await ada.getByRole('button', { name: 'Order Soup' }).click();
    await ada.getByText('Ada Example: Soup').waitFor();
    await ada.getByRole('button', { name: 'No salt for Ada Example' }).click();
    await ada.getByText('Ada Example: Soup (no salt)').waitFor();

    const ben = await come(lunch.ben);
    await ben.getByText('Cake, 3').waitFor();
    expect(await orders(ben)).toEqual([]);
    await ben.getByRole('button', { name: 'Order Cake' }).click();
    await ben.getByText('Ben Example: Cake').waitFor();
    expect(await orders(ben)).toEqual(['Ben Example: Cake']);

    await mona.reload();
    await mona.getByText('Ben Example: Cake').waitFor();
    expect(await orders(mona)).toEqual(['Ada Example: Soup (no salt)', 'Ben Example: Cake']);
    await mona.getByRole('button', { name: 'Cancel Soup of Ada Example' }).click();
    await refused(mona, 'forbidden');

    await ben.getByRole('button', { name: 'Cancel Cake of Ben Example' }).click();
    await ben.getByText('Ben Example: Cake').waitFor({ state: 'detached' });
    const { data: stored } = await done(lunch.owner.call('GET', `${lunch.data}/orders`));
    expect(stored.map(({ dish, person }: { dish: string; person: string }) => [dish, person])).toEqual([
      ['Soup', lunch.ada.id],
    ]);
    const { data: menu } = await done(lunch.owner.call('GET', `${lunch.data}/menu?sort=dish`));
    expect(menu.map(({ dish }: { dish: string }) => dish)).toEqual(['Cake', 'Soup']);
  });
});
