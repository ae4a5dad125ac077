import { admin } from '../commands.ts';
import { type NodeApp, newNodeApp, nodeApp } from '../node-apps.ts';
import { caller, type Person, type Tenant } from '../people.ts';
import { done } from '../rows-proof.ts';
import type { RunningServer } from '../server.ts';
import { newRelease } from '../sites.ts';
import { fillAdmin, type Governed } from './fill-admin.ts';
import { fillPeople, type Published } from './fill-people.ts';
import { fillRun, type Ran } from './fill-run.ts';
import { fillSites } from './fill-sites.ts';
import { fillTables } from './fill-tables.ts';

/** Somebody who can sign in with a browser. */
export interface Visitor extends Person {
  name: string;
  password: string;
}

/** An organisation with something on every page of the console. */
export interface ConsoleWorld {
  server: RunningServer;
  tenant: Tenant;
  admin: Visitor;
  owner: Visitor;
  member: Visitor;
  /** A program that runs, with tables, storage and all the rest. */
  booking: NodeApp;
  /** What became of its deployments. */
  ran: Ran;
  /** Static files: one release shown, one staged. */
  handbook: { id: string; slug: string; base: string; activeRelease: string; stagedRelease: string };
  governed: Governed;
  published: Published;
}

export async function newConsoleWorld(server: RunningServer): Promise<ConsoleWorld> {
  const slug = `northwind-${Bun.randomUUIDv7().slice(-6)}`;
  const { id } = await admin(server, ['tenants', 'create', slug, '--name', 'Northwind']);
  const [ada, olga, max] = await Promise.all([
    newVisitor(server, slug, 'Ada Admin', 'tenant_admin'),
    newVisitor(server, slug, 'Olga Owner', 'tenant_member'),
    newVisitor(server, slug, 'Max Member', 'tenant_member'),
  ]);
  const tenant: Tenant = {
    server,
    id: String(id),
    slug,
    admin: ada,
    member: olga,
    outsider: max,
    base: `/api/v1/tenants/${id}`,
  };
  const booking = await newNodeApp(tenant, nodeApp('one'));
  await done(
    olga.call('PATCH', `${tenant.base}/apps/${booking.id}`, {
      name: 'Room booking',
      summary: 'Rooms, desks and who has them today',
      description: 'Find a free room, take it, give it back. Your calendar is told.',
    }),
  );
  await fillTables(tenant, booking, { owner: olga, member: max });
  const ran = await fillRun(tenant, booking, olga);
  const handbook = await newHandbook(tenant, olga);
  await fillSites(tenant, booking, olga);
  const governed = await fillAdmin(tenant);
  const published = await fillPeople(tenant, olga, max);
  return {
    server,
    tenant,
    admin: ada,
    owner: olga,
    member: max,
    booking,
    ran,
    handbook,
    governed,
    published,
  };
}

export async function newVisitor(
  server: RunningServer,
  tenant: string,
  name: string,
  role: 'tenant_admin' | 'tenant_member',
): Promise<Visitor> {
  const email = `${name.split(' ')[0]?.toLowerCase()}-${Bun.randomUUIDv7().slice(-6)}@northwind.test`;
  const password = `correct horse ${Bun.randomUUIDv7()}`;
  const { id } = await admin(
    server,
    ['users', 'create', email, '--name', name, '--password-stdin'],
    `${password}\n`,
  );
  await admin(server, ['members', 'set', '--tenant', tenant, '--user', email, '--role', role]);
  const { access_token: token } = await admin(server, ['tokens', 'issue', '--user', email]);
  return {
    id: String(id),
    email,
    name,
    password,
    token: String(token),
    call: caller(server, { authorization: `Bearer ${token}` }),
  };
}

async function newHandbook(tenant: Tenant, owner: Person): Promise<ConsoleWorld['handbook']> {
  const app = await done(
    owner.call('POST', `${tenant.base}/apps`, {
      name: 'Handbook',
      summary: 'How we work, in one place',
      deploy_method: 'static',
    }),
  );
  const base = `${tenant.base}/apps/${app.id}/static`;
  const page = (text: string) =>
    `<!doctype html><html lang="en"><title>Handbook</title><h1>${text}</h1></html>`;
  const first = {
    'index.html': page('Handbook'),
    'style.css': 'h1 { color: teal }',
    'old.html': page('Old'),
  };
  const active = await newRelease({ owner, base }, first, { version: '1.0.0', on_finalize: 'deploy' });
  await done(owner.call('POST', `${base}/site/staging/enable`));
  const second = {
    'index.html': page('Handbook, second edition'),
    'style.css': first['style.css'],
    'new.html': page('New'),
  };
  const staged = await newRelease({ owner, base }, second, { version: '1.1.0' });
  await done(owner.call('POST', `${base}/releases/${staged.id}/stage`));
  return { id: app.id, slug: app.slug, base, activeRelease: active.id, stagedRelease: staged.id };
}
