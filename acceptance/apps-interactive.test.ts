import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { root, temporaryFolder } from './support/server.ts';
import { onTerminal } from './support/terminal.ts';
import { newWorld } from './support/world.ts';

const world = useFixture(newWorld);

const enter = '\r';
const erase = '\u007f';
const environment = () => ({
  ...process.env,
  SVC_BASE_URL: world.tenant.server.baseUrl,
  SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
  SVC_TOKEN: world.people.O.token,
  SVC_TENANT: world.tenant.slug,
  SVC_API_KEY: undefined,
  NO_COLOR: undefined,
});
const line = (...flags: string[]) => [join(root, 'svc'), 'apps', 'create', '--interactive', ...flags];
const start = (...flags: string[]) => onTerminal(line(...flags), environment());

test('svc apps create --interactive validates each answer, and creates the app', async () => {
  const slug = `shop-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
  const terminal = start('--execute');
  await terminal.sees('Name:');
  terminal.type(' ');
  await terminal.sees('must not be blank');
  terminal.type(`${erase}Pet Shop`);
  await terminal.sees('ok');
  terminal.type(enter);
  await terminal.sees('Slug:');
  // The prompt suggests a slug from the name; the test types another one, invalid at first.
  await terminal.sees('pet-shop');
  terminal.type('Shop');
  await terminal.sees('must be 2 to 63 of a-z');
  // Enter on an invalid value keeps the prompt open.
  terminal.type(enter);
  terminal.type(erase.repeat(4) + world.app.slug);
  await terminal.sees('ok');
  // Only the server knows that the slug is taken.
  terminal.type(enter);
  await terminal.sees('is taken; available: ');
  terminal.type(erase.repeat(world.app.slug.length) + slug);
  await terminal.sees('ok');
  terminal.type(enter);
  await terminal.sees('Subdomain:');
  terminal.type(enter);
  await terminal.sees('Summary');
  terminal.type('Everything for pets');
  await terminal.sees('ok');
  terminal.type(enter);
  await terminal.sees('Deploy method');
  terminal.type(`\u001b[B\u001b[B${enter}`);
  await terminal.sees('Resource tier');
  terminal.type(enter);
  expect([await terminal.exited, terminal.shown().includes(slug)]).toEqual([0, true]);
  const { body } = await world.as.O('GET', `${world.tenant.base}/apps/${slug}`);
  expect(body).toMatchObject({
    name: 'Pet Shop',
    slug,
    subdomain: slug,
    summary: 'Everything for pets',
    deploy_method: 'static',
    resource_preset: 'S',
  });
});

test('svc apps create --interactive asks for missing flags, and Ctrl-C exits 130 without an app', async () => {
  const slug = `shop-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
  const terminal = start('--execute', '--name', 'Given', '--slug', slug);
  await terminal.sees('Subdomain:');
  expect(terminal.shown()).not.toContain('Name:');
  terminal.type('\u0003');
  expect(await terminal.exited).toBe(130);
  expect((await world.as.O('GET', `${world.tenant.base}/apps/${slug}`)).status).toBe(404);
});

test.each(['', 'Pet', ' '])(
  'one Ctrl-C at the first question, with %j typed, exits 130 and restores the terminal',
  async (typed) => {
    const shell = ['sh', '-c', `"$@"; echo "ended with $?"; stty -a`, 'sh', ...line('--execute')];
    const terminal = onTerminal(shell, environment());
    await terminal.sees('Name:');
    if (typed !== '') {
      terminal.type(typed);
      await terminal.sees(typed.trim() === '' ? 'must not be blank' : 'ok');
    }
    terminal.type('\u0003');
    await terminal.exited;
    const shown = terminal.shown();
    expect(shown).toContain('ended with 130');
    expect(shown).not.toMatch(/TypeError|node_modules|Slug:/);
    // Restores what raw mode switches off.
    expect(shown).toMatch(/\sisig icanon /);
    expect(shown).toMatch(/\secho /);
  },
);

test.each([
  ['NO_COLOR', { NO_COLOR: '1' }, {}],
  ['TERM=dumb', {}, { term: 'dumb' }],
])('with %s the questions have no colours, and what is offered still shows as such', async (_, env, how) => {
  const terminal = onTerminal(line(), { ...environment(), ...env }, how);
  await terminal.sees('Name:');
  terminal.type('  ');
  await terminal.sees('must not be blank');
  // A terminal that cannot erase has no key for it.
  // Subdomains are unique over all tenants of a server.
  const id = Bun.randomUUIDv7().slice(-12);
  terminal.type(`Shop ${id}`);
  await terminal.sees('ok');
  terminal.type(enter);
  await terminal.sees(`Slug: (shop-${id})`);
  // The suggestion is accepted: the line stays the same.
  terminal.type(enter);
  await terminal.sees(`Subdomain: (shop-${id})`);
  terminal.type(enter);
  await terminal.sees('Summary');
  expect(terminal.coloured()).toBe(false);
  terminal.type(enter);
  await terminal.sees('Deploy method');
  terminal.type('\u0003');
  expect(await terminal.exited).toBe(130);
  expect(terminal.shown()).not.toContain('TypeError');
});

test('a preview ends with the command that creates the app without questions', async () => {
  const slug = `shop-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
  const terminal = start('--name', 'Pet Shop', '--slug', slug);
  await terminal.sees('Subdomain:');
  terminal.type(enter);
  await terminal.sees('Summary');
  terminal.type(`For pets${enter}`);
  await terminal.sees('Deploy method');
  terminal.type(enter);
  await terminal.sees('Resource tier');
  // The prompt offers only what the tenant may have.
  expect(terminal.shown()).not.toContain('XL');
  terminal.type(enter);
  expect(await terminal.exited).toBe(0);
  expect(terminal.shown()).toContain(
    `svc apps create --name 'Pet Shop' --slug ${slug} --subdomain=${slug} '--summary=For pets' --deploy-method=docker --resource-tier=S --execute`,
  );
});

test('svc apps purge asks for the slug of the app', async () => {
  const slug = `gone-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
  const path = `${world.tenant.base}/apps`;
  expect((await world.as.O('POST', path, { name: slug, slug })).status).toBe(201);
  expect((await world.as.O('DELETE', `${path}/${slug}`)).status).toBe(200);
  const purge = () => onTerminal([join(root, 'svc'), 'apps', 'purge', slug, '--execute'], environment());
  const refused = purge();
  await refused.sees(`Type ${slug} to execute this`);
  refused.type(`yes${enter}`);
  expect(await refused.exited).toBe(11);
  expect((await world.as.O('GET', `${path}/${slug}`)).body.record).toBe('deleted');
  const done = purge();
  await done.sees(`Type ${slug} to execute this`);
  done.type(`${slug}${enter}`);
  expect(await done.exited).toBe(0);
  expect((await world.as.O('GET', `${path}/${slug}`)).status).toBe(404);
});

test('svc tables drop asks on a terminal, unless --yes is there', async () => {
  const tables = `${world.tenant.base}/apps/${world.app.slug}/tables`;
  const columns = [{ name: 'name', type: 'text' }];
  const drop = (table: string, ...flags: string[]) => [
    join(root, 'svc'),
    'tables',
    'drop',
    table,
    '--app',
    world.app.slug,
    '--execute',
    ...flags,
  ];
  const status = async (table: string) => (await world.as.O('GET', `${tables}/${table}`)).status;
  for (const name of ['first', 'second', 'third'])
    expect((await world.as.O('POST', tables, { name, columns })).status).toBe(201);

  const refused = onTerminal(drop('first'), environment());
  await refused.sees('This cannot be undone.');
  await refused.sees('Execute this plan?');
  refused.type('n');
  expect([await refused.exited, await status('first')]).toEqual([11, 200]);
  expect(refused.shown()).toContain('Nothing has changed.');

  const agreed = onTerminal(drop('first'), environment());
  await agreed.sees('Execute this plan?');
  agreed.type('y');
  expect([await agreed.exited, await status('first')]).toEqual([0, 404]);

  const unasked = onTerminal(drop('second', '--yes'), environment());
  expect([await unasked.exited, await status('second')]).toEqual([0, 404]);
  expect(unasked.shown()).not.toContain('Execute this plan?');

  const piped = Bun.spawn(drop('third'), {
    env: environment(),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  expect([await piped.exited, await status('third')]).toEqual([0, 404]);
});

test('svc apply and svc tables update ask on a terminal where values would be lost, and only there', async () => {
  const base = `${world.tenant.base}/apps/${world.app.slug}`;
  const file = join(temporaryFolder(), 'tables.yaml');
  const command = (...args: string[]) => [join(root, 'svc'), ...args, '--app', world.app.slug, '--execute'];
  const apply = command('apply', '--file', file, '--allow-destructive');
  const update = (...flags: string[]) => command('tables', 'update', 'teas', ...flags);
  const columns = async () =>
    (await world.as.O('GET', `${base}/tables/teas`)).body.columns.map(({ name }: { name: string }) => name);

  await Bun.write(file, 'tables: { teas: { columns: [name:text, price:int], history: 30d } }');
  const unasked = onTerminal(apply, environment());
  expect(await unasked.exited).toBe(0);
  expect(unasked.shown()).not.toContain('Execute this plan?');

  await Bun.write(file, 'tables: { teas: { columns: [name:text] } }');
  const kept = onTerminal(apply, environment());
  expect(await kept.exited).toBe(0);
  expect(kept.shown()).not.toContain('Execute this plan?');
  const refused = onTerminal([...apply, '--prune'], environment());
  await refused.sees('Destructive: drop column teas.price.');
  await refused.sees('This cannot be undone.');
  await refused.sees('Execute this plan?');
  refused.type('n');
  expect([await refused.exited, await columns()]).toEqual([11, expect.arrayContaining(['price'])]);

  const longer = onTerminal(update('--history', '60d'), environment());
  expect(await longer.exited).toBe(0);
  expect(longer.shown()).not.toContain('Execute this plan?');
  const shorter = onTerminal(update('--history', 'none'), environment());
  await shorter.sees('The history of teas is lost.');
  await shorter.sees('Execute this plan?');
  shorter.type('y');
  expect(await shorter.exited).toBe(0);
  expect((await world.as.O('GET', `${base}/tables/teas`)).body.history).toBe(null);

  const piped = Bun.spawn([...apply, '--prune'], {
    env: environment(),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  expect([await piped.exited, (await columns()).includes('price')]).toEqual([0, false]);
});
