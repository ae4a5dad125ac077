import { beforeAll, describe, expect, test } from 'bun:test';
import { nodeApp } from '../support/apps.ts';
import { type Svc, svcFor } from '../support/commands.ts';
import { queryDatabase } from '../support/database.ts';
import { type App, newApp } from '../support/people.ts';
import { Tally } from '../support/rows.ts';
import { type Files, folderOf } from '../support/server.ts';
import { type SiteGround, siteOf, visitorCookie } from '../support/sites.ts';
import { keepAsking, until } from '../support/until.ts';
import { newWorld, type World } from '../support/world.ts';

const waitMs = 60_000;

interface Instance {
  id: string | null;
  process: string;
  index: number;
  state: string;
}

/** `moves`: what happens to the app while clients ask all the time. */
export function scaleUnderLoad({ clients, moves }: { clients: number; moves: readonly Move[] }): void {
  describe('under constant load', () => {
    let world: World;
    let svc: Svc;
    let app: App;
    let site: SiteGround;
    let cookie: string;
    beforeAll(async () => {
      world = await newWorld();
      svc = svcFor(world.tenant.server, { token: world.people.O.token, tenant: world.tenant.slug });
      app = await newApp(world.tenant, { owner: world.people.O }, { deploy_method: 'docker' });
      site = siteOf(world.tenant, app);
      await mustRun('deploy', '--app', app.id, '--from-dir', folderOf(sleepyApp('one')), '--execute');
      cookie = await visitorCookie(site, world.people.O);
    });

    const mustRun = async (...words: string[]) => {
      const ran = await svc(words);
      if (ran.code !== 0) throw new Error(`svc ${words.join(' ')}: ${ran.stderr}`);
    };
    const ps = async () => (await svc(['ps', '--app', app.id, '--json'])).json<{ items: Instance[] }>().items;
    const runs = (expected: string) =>
      until(
        expected,
        async () =>
          (await ps()).map(({ process, index, state }) => `${process}${index} ${state}`).join() === expected,
        waitMs,
      );
    const ready = (count: number) => Array.from({ length: count }, (_, at) => `web${at + 1} ready`).join();

    async function ask(method: 'GET' | 'POST'): Promise<string> {
      try {
        const answer = await fetch(`http://127.0.0.1:${site.server.port}/`, {
          method,
          headers: { host: `${site.host}:${site.server.port}`, cookie },
          ...(method === 'POST' ? { body: 'some text' } : {}),
        });
        const text = await answer.text();
        return answer.ok && /^(one\/one|two\/two)$/.test(text) ? 'ok' : `${method} ${answer.status} ${text}`;
      } catch (error) {
        return `${method} ${String(error)}`;
      }
    }

    /** The server may record the last requests only now, so the time of the last one is set back again. */
    const fallsAsleep = (isAsleep: (instance: Instance) => boolean) =>
      until(
        'the app falls asleep',
        async () => {
          if ((await ps()).every(isAsleep)) return true;
          const text = `update svc.app_activity set last_active_at = now() - interval '1 day' where app_id = $1`;
          await queryDatabase(world.tenant.server, text, [app.id]);
          return false;
        },
        waitMs,
      );

    const acts: Record<Move, () => Promise<unknown>> = {
      redeploy: () =>
        mustRun('deploy', '--app', app.id, '--from-dir', folderOf(sleepyApp('two')), '--execute'),
      rollback: async () => {
        const { items } = (
          await svc(['deployments', 'list', '--app', app.id, '--state', 'superseded', '--json'])
        ).json<{ items: { id: string }[] }>();
        await mustRun('deployments', 'rollback', items[0]!.id, '--app', app.id, '--execute');
      },
      restart: () => mustRun('apps', 'restart', app.id, '--execute'),
      scale: async () => {
        await mustRun('apps', 'scale', app.id, 'web=3', '--execute');
        await runs(ready(3));
        await mustRun('apps', 'scale', app.id, 'web=1', '--execute');
        await runs(ready(1));
      },
      // It falls asleep although it is asked, and the next request wakes it.
      sleep: async () => {
        const before = new Set((await ps()).map(({ id }) => id));
        await fallsAsleep(({ id, state }) => state !== 'ready' || !before.has(id));
      },
    };

    test(`${moves.join(', ')}: no request fails`, async () => {
      const results = new Tally();
      let turn = 0;
      const asking = keepAsking(async () => results.add(await ask(turn++ % 4 === 0 ? 'POST' : 'GET')), {
        clients,
      });
      for (const move of moves) {
        const [before, begun] = [results.count('ok'), performance.now()];
        await acts[move]();
        // Those that replaced instances have ended, too.
        await runs(ready(1));
        const seconds = (performance.now() - begun) / 1000;
        console.log(`${move}: ${results.count('ok') - before} requests in ${seconds.toFixed(1)} s`);
        expect([move, results.count('ok') > before]).toEqual([move, true]);
      }
      await asking.stop();
      expect(results.except('ok')).toEqual([]);
    });

    test('an app that nobody asks sleeps, and its first requests start it once', async () => {
      await fallsAsleep(({ state }) => state === 'asleep');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => ask(at % 4 === 0 ? 'POST' : 'GET')),
      );
      expect(new Set(answers)).toEqual(new Set(['ok']));
      await runs(ready(1));
    });
  });
}

export type Move = 'redeploy' | 'rollback' | 'restart' | 'scale' | 'sleep';

function sleepyApp(version: string): Files {
  const files = nodeApp(version);
  return { ...files, 'svc.yaml': `${files['svc.yaml']}sleep: 5m\n` };
}
