import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { nodeApp, staticSource } from './support/apps.ts';
import { svcAs } from './support/commands.ts';
import { type App, newApp } from './support/people.ts';
import { type Files, folderOf } from './support/server.ts';
import { askSite, siteOf, visitorCookie } from './support/sites.ts';
import { keepAsking, until } from './support/until.ts';
import { newWorld } from './support/world.ts';

const world = useFixture(newWorld);
const asOwner = svcAs(() => [world.tenant, world.people.O]);

const newAppOf = (deploy_method: 'docker' | 'static') =>
  newApp(world.tenant, { owner: world.people.O }, { deploy_method });
const deploy = ({ id }: App, files: Files, ...args: string[]) =>
  asOwner(['deploy', '--app', id, '--from-dir', folderOf(files), ...args]);

describe('svc apps restart', () => {
  test('starts another instance of the live build, and no request is lost', async () => {
    const app = await newAppOf('docker');
    expect((await deploy(app, nodeApp('one'), '--execute')).code).toBe(0);
    const ps = async () =>
      (await asOwner(['ps', '--app', app.id, '--json'])).json<{ items: Instance[] }>().items;
    const [before] = await ps();
    expect(before).toMatchObject({ process: 'web', state: 'ready', deployment_seq: 1, restarts: 0 });
    const site = siteOf(world.tenant, app);
    const cookie = await visitorCookie(site, world.people.O);
    const statuses = new Set<number>();
    const asking = keepAsking(async () =>
      statuses.add((await askSite(site, '/', { headers: { cookie } })).status),
    );
    const preview = await asOwner(['apps', 'restart', app.id]);
    expect([preview.code, (await ps())[0]?.id]).toEqual([0, before!.id]);
    const restarted = await asOwner(['apps', 'restart', app.id, '--execute', '--json']);
    expect([restarted.code, restarted.json()]).toMatchObject([0, { seq: 2, state: 'live', kind: 'restart' }]);
    await until(
      'the first instance has ended',
      async () => (await ps()).every(({ id }) => id !== before!.id),
      30_000,
    );
    await asking.stop();
    expect([...statuses]).toEqual([200]);
    expect(await ps()).toMatchObject([{ state: 'ready', deployment_seq: 2 }]);
  });

  test('of a site is refused: it has no process', async () => {
    const app = await newAppOf('static');
    expect((await deploy(app, staticSource(), '--execute')).code).toBe(0);
    const refused = await asOwner(['apps', 'restart', app.id, '--execute']);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('A site has no process')]);
  });
});

interface Instance {
  id: string;
  process: string;
  state: string;
  deployment_seq: number;
}
