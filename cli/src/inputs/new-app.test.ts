import { describe, expect, test } from 'bun:test';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith } from '../../testing/run-svc.ts';

const server = useFakeServer();

const sent = () =>
  server.seen.map(({ path, body }) => [path.replace('/api/v1/tenants/', ''), JSON.parse(body || '{}')]);

interface Given {
  here?: string;
  line?: string[];
  tenant?: string;
}

/** `svc apps create --from-file` of a text, first as a file in another folder, then as standard input. */
async function create(text: string, { here, line = [], tenant }: Given = {}) {
  const cwd = folderWith(here === undefined ? {} : { 'svc.yaml': here });
  const path = `${folderWith({ 'svc.yaml': text })}/svc.yaml`;
  const env = { SVC_TENANT: tenant };
  const file = await server.svc(['apps', 'create', '--from-file', path, ...line], { cwd, env });
  const piped = await server.svc(['apps', 'create', '--from-file', '-', ...line], { cwd, env, input: text });
  return { exits: [file.exit, piped.exit], file, piped };
}
const twice = (tenant: string, app: object) => Array(2).fill([`${tenant}/apps`, app]);

describe('the tenant of an app that a svc.yaml describes', () => {
  const there = 'tenant: theirs\nname: Shop\napp: { slug: shop }\n';
  const app = { name: 'Shop', slug: 'shop' };

  test('is that of the given file, not that of the folder', async () => {
    expect((await create(there, { here: 'tenant: mine\n' })).exits).toEqual([0, 0]);
    expect(sent()).toEqual(twice('theirs', app));
  });

  test('is that of the flag or the environment before any file', async () => {
    await create(there, { here: 'tenant: mine\n', line: ['--tenant', 'flag'] });
    await create(there, { tenant: 'around' });
    expect(sent()).toEqual([...twice('flag', app), ...twice('around', app)]);
  });

  test('is that of the folder if the file names none or is not a svc.yaml', async () => {
    await create('name: Shop\napp: { slug: shop }\n', { here: 'tenant: mine\n' });
    await create('name: Shop\nslug: shop\n', { here: 'tenant: mine\n' });
    expect(sent()).toEqual(Array(4).fill(['mine/apps', app]));
  });

  test('does not need a valid svc.yaml in the folder if the given one is valid', async () => {
    expect((await create(there, { here: 'nonsense: 1\n' })).exits).toEqual([0, 0]);
    server.seen = [];
    const { exits, piped } = await create('tenant: theirs\nbiuld: make\n');
    expect([exits, server.seen]).toEqual([[7, 7], []]);
    expect(piped.err).toStartWith('Error: Standard input:2:1: unknown key "biuld"');
  });
});

describe('a file of fields', () => {
  test('may have data scopes as text or as a list', async () => {
    for (const scopes of ['a, b', '[a, b]']) {
      await create(`name: Shop\ndata-scopes: ${scopes}\n`, { tenant: 'demo' });
    }
    expect(sent()).toEqual(Array(4).fill(['demo/apps', { name: 'Shop', data_scopes: ['a', 'b'] }]));
  });

  test('with two different values of one field is rejected', async () => {
    const two = await create('name: a\nresource_preset: S\nresource-tier: M\n', { tenant: 'demo' });
    expect([two.exits, server.seen]).toEqual([[2, 2], []]);
    expect(two.file.err).toContain('values for resource_preset and resource-tier');
    const same = await create('name: a\nresource_preset: S\nresource-tier: S\n', { tenant: 'demo' });
    expect(same.exits).toEqual([0, 0]);
  });
});
