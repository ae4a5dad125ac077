import type { Locator } from 'playwright-core';

/** Why a button that is there can not be used, as it is told to who can not see it; null where it can. */
export async function reasonOf(button: Locator): Promise<string | null> {
  const id = await button.getAttribute('aria-describedby');
  return id === null ? null : button.page().locator(`[id="${id}"]`).textContent();
}
