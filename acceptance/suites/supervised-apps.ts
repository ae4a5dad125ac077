import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { svcFor } from '../support/commands.ts';
import { queryDatabase } from '../support/database.ts';
import { done, newTenant } from '../support/people.ts';
import { folderOf, type RunningServer, root, startEmbedded } from '../support/server.ts';
import { askSite, newSite, visitorCookie } from '../support/sites.ts';
import { keepAsking } from '../support/until.ts';

export const startSupervised = (
  env: Record<string, string> = {},
  more: { dataDir?: string; port?: number } = {},
) =>
  startEmbedded({
    ...more,
    env,
    command: [process.execPath, join(root, 'server/src/supervise.ts')],
    readyMs: 200_000,
  });

/** A running app whose answers identify the process that gave them. */
export async function newIdentifiedApp(server: RunningServer) {
  const tenant = await newTenant(server);
  const site = await newSite(server, tenant);
  const app = await done(
    site.owner.call('POST', `${tenant.base}/apps`, { name: 'Identified', deploy_method: 'docker' }),
  );
  const svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
  const files = {
    'package.json': JSON.stringify({
      name: 'identified',
      private: true,
      scripts: { start: 'node server.js' },
    }),
    'server.js': `const id = crypto.randomUUID();
      require('node:http').createServer((_, response) => response.end(id)).listen(process.env.PORT);`,
  };
  const deployed = await svc(['deploy', '--app', app.slug, '--from-dir', folderOf(files), '--execute']);
  if (deployed.code !== 0) throw new Error(`svc deploy ended with ${deployed.code}: ${deployed.stderr}`);
  const ground = { ...site, app, host: `${app.subdomain}.apps.localhost` };
  const cookie = await visitorCookie(ground, ground.owner);
  const [instance] = await queryDatabase(server, 'select address from svc.app_instances where app_id = $1', [
    app.id,
  ]);
  const address = `http://${instance!.address}/`;
  return {
    address,
    ask: () => askSite(ground, '/', { headers: { cookie, accept: 'text/html' } }),
    askInstance: async () => (await fetch(address)).text(),
  };
}

/** Asks an address until `stop`, which returns how many answers there were, which, and how many requests failed. */
export function pollAddress(address: string, pauseMs?: number) {
  const seen = { answers: 0, failed: 0, texts: new Set<string>() };
  const asking = keepAsking(
    async () => {
      try {
        seen.texts.add(await (await fetch(address)).text());
        seen.answers++;
      } catch {
        seen.failed++;
      }
    },
    { pauseMs },
  );
  return {
    seen,
    async stop() {
      await asking.stop();
      return { ...seen, texts: [...seen.texts] };
    },
  };
}

/** Process IDs of the supervisor's children by program. */
export function partsOf(server: RunningServer): { server: number; agent: number } {
  const find = (program: string) => childrenOf(server, program)[0] ?? Number.NaN;
  return { server: find('main'), agent: find('agent') };
}

/** Process IDs of the supervisor's children that run this program. */
export function childrenOf({ pid }: RunningServer, program: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .filter((child) => new RegExp(`/${program}\\.[jt]s$`).test(commandOf(child)))
    .map(Number);
}

const read = (path: string) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};
const parentOf = (pid: string) => Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);
const commandOf = (pid: string) => read(`/proc/${pid}/cmdline`).replace(/\0$/, '');
