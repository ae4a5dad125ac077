import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { root } from '../server.ts';

const source = readFileSync(join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** What keeps people from using the page, by the rules of WCAG 2.2 AA and good practice; empty is as it should be. */
export async function violationsOf(page: Page, only?: 'color-contrast'): Promise<string[]> {
  // Evaluated, not loaded: the page's own policy lets no other script in, and must stay so.
  await page.evaluate(source);
  return page.evaluate(async (rule) => {
    interface Found {
      id: string;
      help: string;
      nodes: { target: unknown[]; failureSummary?: string }[];
    }
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Found[] }> };
    };
    const { violations } = await axe.run({
      resultTypes: ['violations'],
      ...(rule ? { runOnly: [rule] } : {}),
    });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes
          .slice(0, 4)
          .map(
            ({ target, failureSummary }) =>
              `${target.join(' ')} (${failureSummary?.split('\n').at(-1)?.trim()})`,
          )
          .join('; ')}`,
    );
  }, only);
}
