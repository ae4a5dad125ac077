import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { askAllTheTime, newIdentifiedApp, startSupervised } from './suites/supervised-apps.ts';
import { postmasterOf } from './support/server.ts';
import { until } from './support/until.ts';

const awayMs = 60_000;

test('apps keep running in the same process while the database does not answer for a minute, and afterwards', async () => {
  const server = await startSupervised();
  const app = await newIdentifiedApp(server);
  const process = await app.askInstance();
  const asking = askAllTheTime(app.address);
  const postmaster = postmasterOf(server);
  const all = [postmaster, ...childrenOf(postmaster)];
  signal(all, 'SIGSTOP');
  await Bun.sleep(awayMs);
  signal(all, 'SIGCONT');
  await until('the app is shown', async () => (await app.ask().catch(() => null))?.status === 200, 60_000);
  // Long enough for three health checks of the instance.
  await Bun.sleep(15_000);
  expect(await app.ask()).toMatchObject({ status: 200, text: process });
  const asked = await asking.stop();
  console.log(
    `the database was away for ${awayMs / 1000} s: ${asked.answers} answers, ${asked.failed} failed`,
  );
  expect([asked.failed, asked.texts]).toEqual([0, [process]]);
  expect(await server.stop()).toBe(0);
});

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // A connection that has ended.
    }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) \S /s, '')
          .startsWith(`${parent} `);
      } catch {
        return false;
      }
    })
    .map(Number);
}
