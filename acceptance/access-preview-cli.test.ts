import { expect, test } from 'bun:test';
import { accessSituations } from './suites/access-situations.ts';
import { expectFailure, type Svc, svcFor } from './support/commands.ts';
import { newMember, tokenThrough } from './support/people.ts';
import { previewWorld } from './support/preview-world.ts';
import { until } from './support/until.ts';

accessSituations('svc');

/** An admin, and a person inside the app `lunch` and outside of it, each with the command line. */
async function people() {
  const { t } = await previewWorld();
  const ada = await newMember(t);
  const as = (token: string) => svcFor(t.server, { token, tenant: t.slug });
  const admin = as(t.admin.token);
  const change = async (...line: string[]) => {
    const ran = await admin([...line, '--execute']);
    expect([line.join(' '), ran.code]).toEqual([line.join(' '), 0]);
  };
  const inApp = as(await tokenThrough(t.server, ada, `${t.slug}/lunch`));
  return { ada, admin, change, inApp, outside: as(ada.token) };
}

const column = async (svc: Svc, name: string, ...line: string[]) => {
  const ran = await svc(['rows', 'list', ...line, '--sort', name, '--json']);
  if (ran.code !== 0) return ran.code;
  return ran.json<{ data: Record<string, unknown>[] }>().data.map((row) => row[name]);
};

test('rules and roles set with svc decide what a person reads and changes with svc', async () => {
  const { ada, admin, change, inApp } = await people();
  const menu = ['menu', '--app', 'lunch'];
  const insert = (dish: string) =>
    inApp(['rows', 'insert', ...menu, '--data', JSON.stringify({ dish, region: 'us' }), '--execute']);
  const dishes = () => column(inApp, 'dish', ...menu);
  await change('tables', 'create', ...menu, '--column', 'dish:text', '--column', 'region:text');
  await change('rows', 'insert', ...menu, '--data', '{"dish":"soup","region":"eu"}');
  // Without an owner column people read, and only the app and its owners write.
  expect(await dishes()).toEqual(['soup']);
  await expectFailure(insert('free'), 4, 'forbidden');

  await change('tables', 'access', 'set', ...menu, '--read', 'any', '--write', 'role:manager');
  await expectFailure(insert('free'), 4, 'forbidden');
  const manager = ['--app', 'lunch', '--role', 'manager', '--user', ada.email];
  await change('apps', 'roles', 'set', ...manager);
  expect((await insert('cake')).code).toBe(0);
  expect(await dishes()).toEqual(['cake', 'soup']);
  await change('apps', 'roles', 'remove', ...manager);
  await expectFailure(insert('tea'), 4, 'forbidden');

  await change('tables', 'access', 'set', ...menu, '--read', 'region=eq.@me.region');
  expect(await dishes()).toBe(5);
  await change('members', 'set', ada.email, '--attribute', 'region=eu');
  expect(await dishes()).toEqual(['soup']);
  await change('tables', 'access', 'set', ...menu, '--preset', 'closed');
  expect(await dishes()).toBe(5);

  await change('tables', 'create', 'open', '--app', 'lunch', '--column', 'n:int', '--access', 'read-write');
  await change('tables', 'create', 'mixed', '--app', 'lunch', '--column', 'n:int');
  await change('tables', 'access', 'set', 'mixed', '--app', 'lunch', '--read', 'n=gt.3');
  const { stdout } = await admin(['tables', 'list', '--app', 'lunch', '--columns', 'name,access']);
  const listed = stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s{2,}/));
  expect(listed.toSorted()).toEqual([
    ['menu', 'closed'],
    ['mixed', 'custom'],
    ['open', 'read-write: every user of the app can change every row'],
  ]);
  const rules = await admin(['tables', 'access', 'get', 'open', '--app', 'lunch']);
  expect(rules.stdout).toContain('every user of the app can change every row');
});

test('grants and policies set with svc decide what a person reads with svc, also by names with a comma', async () => {
  const { ada, admin, change, outside } = await people();
  const orders = ['shop/orders', '--connector', 'warehouse'];
  const emails = () => column(outside, 'email', ...orders);
  expect(await emails()).toBe(5);
  const policy = ['--connector', 'warehouse', '--resource-path', 'shop/orders'];
  for (const [name, ...flags] of [
    ['Europe, all of it', '--row-filter', 'region=eq.eu'],
    ['Masked', '--mask', 'email:email'],
  ])
    await change('policies', 'create', '--name', name!, ...policy, ...flags);
  const grant = ['--subject', ada.email, '--connector', 'warehouse', '--preset', 'reader'];
  await change('grants', 'create', ...grant, '--policy', '"Europe, all of it",Masked');
  expect(await emails()).toEqual(['a•••@example.com', 'b•••@example.com']);
  await change('policies', 'update', 'Europe, all of it', '--row-filter', 'region=eq.ap');
  expect(await emails()).toEqual(['e•••@example.com']);
  const mine = await outside(['grants', 'mine', '--json']);
  const [{ id }] = mine.json<[{ id: string }]>();
  await change('grants', 'revoke', id);
  expect(await emails()).toBe(5);
  const log = ['access', 'log', '--user', ada.email, '--columns', 'actor_name,resource_path,rows'];
  await until('the reads are in the access log', async () => (await admin(log)).stdout.includes(ada.email));
});
