import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, newFolder } from '../../testing/run-svc.ts';

const server = useFakeServer();
const lists: Record<string, object[]> = {
  apps: [
    { slug: 'shop', name: 'The shop' },
    { slug: 'site', name: 'Site\tof\nlines' },
  ],
  tables: [{ name: 'pets', description: 'All pets' }],
  templates: [{ id: '1', alias: 'react', name: 'React app' }],
  tenants: [{ slug: 'demo', name: 'Demo' }],
};

async function offered(typed: string[], more: { env?: object; cwd?: string; now?: Date } = {}) {
  server.intercept = (_, { path }) => {
    const items = lists[path.split('/').at(-1) ?? ''] ?? [];
    return Response.json({ items, page: 1, per_page: 200, total: items.length });
  };
  const env = { SVC_CONFIG_DIR: newFolder(), ...more.env };
  const ran = await server.svc(['__complete', ...typed], { ...more, env });
  expect([ran.exit, ran.err]).toEqual([0, '']);
  return ran.out.split('\n').filter(Boolean);
}

describe('values that the server knows', () => {
  test('are offered for flags and positionals', async () => {
    expect(await offered(['apps', 'get', ''])).toEqual(['shop\tThe shop', 'site\tSite of lines']);
    expect(await offered(['deploy', '--app', 's'])).toHaveLength(2);
    expect(await offered(['deploy', '--app=sh'])).toEqual(['--app=shop\tThe shop']);
    expect(await offered(['--tenant', 'd'])).toEqual(['demo\tDemo']);
    expect(await offered(['apps', 'bootstrap', '--template', ''])).toEqual(['react\tReact app']);
  });

  test('of tables are those of the app typed, or of svc.yaml', async () => {
    expect(await offered(['rows', 'list', '--app', 'shop', 'p'])).toEqual(['pets\tAll pets']);
    expect(server.seen.at(-1)?.path).toBe('/api/v1/tenants/demo/apps/shop/tables');
    const cwd = folderWith({ 'svc.yaml': 'name: Pet Shop\napp:\n  slug: pet-shop\n' });
    expect(await offered(['rows', 'list', ''], { cwd })).toEqual(['pets\tAll pets']);
    expect(server.seen.at(-1)?.path).toContain('/apps/pet-shop/');
    expect(await offered(['rows', 'list', ''])).toEqual([]);
  });

  test('are cached for half a minute, for the server and tenant they belong to', async () => {
    const env = { SVC_CONFIG_DIR: newFolder() };
    const now = new Date('2026-11-16T12:00:00Z');
    const at = (seconds: number) => ({ env, cwd: '/', now: new Date(now.getTime() + seconds * 1000) });
    await offered(['apps', 'get', ''], at(0));
    await offered(['apps', 'get', ''], at(20));
    expect(server.seen).toHaveLength(1);
    await offered(['apps', 'get', '--tenant', 'other', ''], at(20));
    await offered(['apps', 'get', ''], at(60));
    expect(server.seen).toHaveLength(3);
    expect((await Bun.file(join(env.SVC_CONFIG_DIR, 'completion.json')).stat()).mode & 0o077).toBe(0);
  });

  test('are the last known ones, or none, when the server does not answer in time', async () => {
    const env = { SVC_CONFIG_DIR: newFolder() };
    await offered(['apps', 'get', ''], { env, cwd: '/', now: new Date('2026-11-16T12:00:00Z') });
    let release = () => {};
    const hung = new Promise<void>((done) => {
      release = done;
    });
    server.intercept = () => hung.then(() => Response.json({}));
    const known = await server.svc(['__complete', 'apps', 'get', ''], { env, cwd: '/' });
    const unknown = await server.svc(['__complete', 'apps', 'fork', ''], { env, cwd: '/' });
    release();
    expect([known.out.includes('shop'), known.err, unknown.out]).toEqual([true, '', '']);
  });

  test('need a login', async () => {
    expect(await offered(['apps', 'get', ''], { env: { SVC_TOKEN: '' } })).toEqual([]);
    expect(server.seen).toEqual([]);
  });
});

test('profiles are those of this machine', async () => {
  const dir = folderWith({ 'config.json': '{"profiles":{"work":{"base_url":"https://svc.example"}}}' });
  expect(await offered(['--profile', ''], { env: { SVC_CONFIG_DIR: dir } })).toEqual([
    'work\thttps://svc.example',
  ]);
});
