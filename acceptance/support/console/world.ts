import { insertPreview, type NodeApp, newNodeApp, nodeApp } from '../apps.ts';
import { admin } from '../commands.ts';
import { queryDatabase } from '../database.ts';
import {
  done,
  newApp,
  newPasswordUser,
  type PasswordUser,
  type Person,
  type Tenant,
  withToken,
} from '../people.ts';
import { insertLines } from '../rows.ts';
import type { Files, RunningServer } from '../server.ts';
import { newRelease } from '../sites.ts';
import { until } from '../until.ts';

/** Somebody who can sign in with a browser. */
export interface Visitor extends Person, PasswordUser {}

export async function newVisitor(
  server: RunningServer,
  tenant: string,
  name: string,
  role: 'tenant_admin' | 'tenant_member' = 'tenant_member',
): Promise<Visitor> {
  return withToken(server, await newPasswordUser(server, tenant, { name, role }));
}

/** Ada is its admin, Olga and Max are members: `outsider` is Max. */
export interface ConsoleTenant extends Tenant {
  admin: Visitor;
  member: Visitor;
  outsider: Visitor;
}

export async function newConsoleTenant(server: RunningServer, name: string): Promise<ConsoleTenant> {
  const slug = `${name.toLowerCase()}-${Bun.randomUUIDv7().slice(-6)}`;
  const { id } = await admin(server, ['tenants', 'create', slug, '--name', name]);
  const [ada, olga, max] = await Promise.all([
    newVisitor(server, slug, 'Ada Admin', 'tenant_admin'),
    newVisitor(server, slug, 'Olga Owner'),
    newVisitor(server, slug, 'Max Member'),
  ]);
  return { server, id: id!, slug, admin: ada, member: olga, outsider: max, base: `/api/v1/tenants/${id}` };
}

export type ConsoleWorld = Awaited<ReturnType<typeof newConsoleWorld>>;

const post = (by: Person, path: string, body?: unknown) => done(by.call('POST', path, body));

/** The app alone, with its deployments, variables and requests. */
export async function newBookingApp(tenant: Tenant) {
  const booking = await newNodeApp(tenant, nodeApp('one'));
  await done(
    booking.owner.call('PATCH', booking.base, {
      name: 'Room booking',
      summary: 'Rooms, desks and who has them today',
      description: 'Find a free room, take it, give it back. Your calendar is updated.',
    }),
  );
  return { booking, ran: await fillRun(tenant, booking) };
}

/** An organisation with something on every page of the console. */
export async function newConsoleWorld(server: RunningServer) {
  const tenant = await newConsoleTenant(server, 'Northwind');
  const { admin, member: owner, outsider: member } = tenant;
  const { booking, ran } = await newBookingApp(tenant);
  await fillTables(tenant, booking);
  await fillServiceAccounts(booking);
  const handbook = await newHandbook(tenant);
  await fillSites(booking);
  const governed = await fillAdmin(tenant);
  await fillData(tenant);
  const published = await fillPeople(tenant);
  return { server, tenant, admin, owner, member, booking, ran, handbook, governed, published };
}

/** Two tables: one with rows of every type, an index and grants, one that is still empty. */
async function fillTables(tenant: Tenant, { base, slug, owner }: NodeApp): Promise<void> {
  const columns = `room:text seats:int guests:int:nullable price:float:nullable badge:bigint:nullable confirmed:bool:false
    starts_at:timestamptz made_by:uuid:nullable extras:jsonb:nullable note:text:nullable`;
  await post(owner, `${base}/tables`, {
    name: 'bookings',
    description: 'Who has which room, and until when',
    columns: columns.split(/\s+/),
  });
  await post(owner, `${base}/tables`, {
    name: 'wishes',
    description: 'What people would like to have in a room',
    columns: ['author:uuid', 'body:text'],
    owner_column: 'author',
  });
  await insertLines(owner, `/data/${tenant.slug}/${slug}/bookings`, Array.from({ length: 60 }, newBooking));
  const bookings = `${base}/tables/bookings`;
  await post(owner, `${bookings}/indexes`, { columns: ['room', 'starts_at'], unique: true });
  const grants: [string, string, string[]][] = [
    ['role', 'tenant_member', ['read']],
    ['user', tenant.outsider.id, ['read', 'write']],
  ];
  for (const [principal_type, principal_id, actions] of grants)
    await post(owner, `${bookings}/grants`, { principal_type, principal_id, actions });
}

/** One that CI uses without a secret, and that has a token. */
async function fillServiceAccounts({ base, owner }: NodeApp): Promise<void> {
  const accounts = `${base}/service-accounts`;
  await post(owner, accounts, { name: 'ci', actions: ['tables', 'deploy'] });
  await post(owner, `${accounts}/ci/tokens`, { name: 'nightly import' });
  await post(owner, `${accounts}/ci/trust`, {
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository: 'northwind/booking', ref: 'refs/heads/main' },
  });
}

const rooms = ['Alcove', 'Boiler room', 'Crow’s nest', 'Deck', 'Engine room'];
const notes = [null, 'The window is stuck; bring a jumper if you mean to stay for long.', '', null];

const newBooking = (_: unknown, at: number): object => ({
  room: rooms[at % rooms.length],
  seats: 4 + (at % 9),
  guests: at % 7 === 0 ? null : at % 5,
  price: at % 3 === 0 ? null : at * 1.5,
  badge: at % 4 === 0 ? '9223372036854775807' : at,
  confirmed: at % 2 === 0,
  starts_at: new Date(Date.UTC(2026, 0, 1 + at, 9, 30)).toISOString(),
  made_by: at % 6 === 0 ? null : Bun.randomUUIDv7(),
  extras: at % 5 === 0 ? { coffee: true, projector: null } : null,
  note: notes[at % 4],
});

const plan =
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200" fill="#e7ecff"/><rect x="20" y="20" width="120" height="70" fill="#4263eb"/><rect x="170" y="60" width="110" height="110" fill="#748ffc"/></svg>';

/** Objects in folders, and two domains that wait for their records. */
async function fillSites({ base, owner }: NodeApp): Promise<void> {
  await post(owner, `${base}/storage/enable`);
  for (const [key, content_type, body] of [
    ['house-rules.txt', 'text/plain', 'Leave the room as you found it.\n'],
    ['floor-plans/first.svg', 'image/svg+xml', plan],
    ['floor-plans/second.svg', 'image/svg+xml', plan],
    ['exports/2027/january.csv', 'text/csv', 'room,seats\nSun deck,12\n'],
  ]) {
    const { put_url, headers } = await post(owner, `${base}/storage/upload-url`, { key, content_type });
    const sent = await fetch(put_url, { method: 'PUT', headers, body });
    if (!sent.ok) throw new Error(`The upload failed with ${sent.status}: ${await sent.text()}`);
  }
  for (const host of ['rooms.northwind.example', 'büro.northwind.example'])
    await post(owner, `${base}/domains`, { host });
}

const page = (title: string, text = title) =>
  `<!doctype html><html lang="en"><title>${title}</title><h1>${text}</h1></html>`;

/** Static files: one release is active, one staged. */
async function newHandbook(tenant: Tenant) {
  const owner = tenant.member;
  const fields = { name: 'Handbook', summary: 'How we work, in one place', deploy_method: 'static' };
  const { id, slug, base: app } = await newApp(tenant, { owner }, fields);
  const base = `${app}/static`;
  const css = 'h1 { color: teal }';
  const first = { 'index.html': page('Handbook'), 'style.css': css, 'old.html': page('Handbook', 'Old') };
  const active = await newRelease({ owner, base }, first, { version: '1.0.0', on_finalize: 'deploy' });
  await post(owner, `${base}/site/staging/enable`);
  const second = {
    'index.html': page('Handbook', 'Handbook, second edition'),
    'style.css': css,
    'new.html': page('Handbook', 'New'),
  };
  const staged = await newRelease({ owner, base }, second, { version: '1.1.0' });
  await post(owner, `${base}/releases/${staged.id}/stage`);
  return { id, slug, base, activeRelease: active.id, stagedRelease: staged.id };
}

/** The ids of what tenant admins manage, one of each. */
async function fillAdmin({ base, admin, member }: Tenant) {
  const create = async (path: string, body: object): Promise<string> =>
    (await post(admin, `${base}/${path}`, body)).id;
  const category = await create('categories', {
    name: 'Workplace',
    description: 'Rooms, desks, lunch and everything else around the office',
    color: '#1971c2',
    display_order: 1,
  });
  await create('categories', { name: 'Finance', color: '#2f9e44', display_order: 2 });
  const connector = await create('connectors', {
    name: 'Warehouse',
    kind: 'postgres',
    description: 'Orders, customers and stock, renewed each night',
  });
  await create('connectors', { name: 'Ticket system', kind: 'http' });
  const preset = await create('presets', {
    name: 'exporter',
    actions: ['read', 'export'],
    description: 'May read, and take away what they read.',
  });
  const policy = await create('access-policies', {
    name: 'Own region',
    description: 'Sales people see customers of Europe, and no whole address.',
    connector_id: connector,
    resource_path: 'sales/customers',
    row_filter: 'region=eq.eu&or=(age.gte.18,and(vip.is.true,country.in.(de,fr,"it,ch")))',
    columns: { mode: 'deny', names: ['password_hash'] },
    masks: [
      { column: 'email', kind: 'partial', args: { first: 4 } },
      { column: 'phone', kind: 'constant', args: { value: 'on request' } },
    ],
  });
  const columns = { mode: 'deny', names: ['salary'] };
  await create('access-policies', { name: 'No salaries', columns, enabled: false });
  const grant = await create('grants', {
    subject_id: member.id,
    connector_id: connector,
    preset_id: preset,
    policy_ids: [policy],
    scope_resource_paths: ['sales/customers', 'sales/orders', 'stock'],
    reason: 'Quarterly report',
    expires_at: '2099-01-01T00:00:00Z',
  });
  const past = { subject_id: admin.id, connector_id: connector, preset_id: 'admin' };
  await create(`grants/${await create('grants', past)}/revoke`, { reason: 'was for the migration' });
  await post(member, `${base}/pats`, { name: 'CI of the booking app', actions: ['read', 'write'] });
  const group = await create('groups', {
    name: 'sales',
    display_name: 'Sales',
    description: 'Everybody who talks to customers',
  });
  await post(admin, `${base}/groups/${group}/members`, { user_id: member.id });
  const reader = { connector_id: connector, preset_id: 'reader' };
  await create('grants', { ...reader, subject_kind: 'group', subject_id: group });
  const request = await post(member, `${base}/grant-requests`, {
    ...reader,
    scope_resource_paths: ['hr/people'],
    duration_seconds: 8 * 3600,
    reason: 'Check the list of new colleagues',
  });
  return { group, category, connector, preset, policy, grant, request: request.id as string };
}

/** A connector whose rows a member can open, some of them masked: the tables of an app of the admin. */
async function fillData({ base, slug, admin, member }: Tenant): Promise<void> {
  const app = await post(admin, `${base}/apps`, { name: 'Stock', slug: 'stock' });
  const columns = ['name:text', 'pieces:int', 'note:text:nullable'];
  await post(admin, `${base}/apps/${app.id}/tables`, { name: 'items', columns });
  const items = ['Chair', 'Desk', 'Lamp'].map((name, at) => ({ name, pieces: at * 7, note: 'from Ada' }));
  await insertLines(admin, `/data/${slug}/stock/items`, items);
  const source = { name: 'Stock', slug: 'stock', kind: 'tables', app: 'stock' };
  const connector = await post(admin, `${base}/connectors`, source);
  const policy = await post(admin, `${base}/access-policies`, {
    name: 'No notes',
    connector_id: connector.id,
    masks: [{ column: 'note', kind: 'redact' }],
  });
  await post(admin, `${base}/grants`, {
    subject_id: member.id,
    connector_id: connector.id,
    preset_id: 'reader',
    policy_ids: [policy.id],
    expires_at: '2099-01-01T00:00:00Z',
  });
}

/** The slugs of two published apps, and the ids of requests to publish them. Needs the categories of the tenant. */
async function fillPeople(tenant: Tenant) {
  const { admin, member: owner, outsider: member } = tenant;
  const newSite = async (fields: { name: string; summary: string; category?: string }) => {
    const app = await newApp(tenant, { owner }, { ...fields, deploy_method: 'static' });
    const files = { 'index.html': page(fields.name) };
    const site = { owner, base: `${app.base}/static` };
    await newRelease(site, files, { version: '1.0', on_finalize: 'deploy' });
    return app;
  };
  const request = async (app: { base: string }, visibility: string, note: string): Promise<string> =>
    (await post(owner, `${app.base}/publication-requests`, { visibility, note })).id;
  const decide = (id: string, decision: 'approve' | 'reject', body: object) =>
    post(admin, `${tenant.base}/publication-requests/${id}/${decision}`, body);

  const [lunch, expenses, travel] = await Promise.all([
    newSite({ name: 'Lunch menu', summary: 'What there is to eat this week', category: 'workplace' }),
    newSite({ name: 'Expenses', summary: 'Hand in receipts, get the money back', category: 'finance' }),
    newSite({ name: 'Travel', summary: 'Trains, flights and who is away' }),
  ]);
  const approvedReview = await request(lunch, 'internet', 'So that guests find it from their phones.');
  await decide(approvedReview, 'approve', { note: 'Nothing secret in it.' });
  await decide(await request(expenses, 'public', ''), 'approve', { note: '' });
  const rejectedReview = await request(travel, 'internet', 'For our partners.');
  await decide(rejectedReview, 'reject', { reason: 'The list of who is away is not for the world.' });
  const openReview = await request(travel, 'public', 'Names are gone; now it is for all of us.');

  await post(owner, `${travel.base}/members`, { user_id: member.id });
  await post(owner, `${travel.base}/co-owners`, { user_id: admin.id });
  await done(owner.call('PUT', `${travel.base}/inspection-consent`, { granted: true }));
  const inspection = { what: 'tables', reason: 'Is there personal data in it?' };
  await post(admin, `${travel.base}/inspections`, inspection);
  return { lunch: lunch.slug, travel: travel.slug, openReview, approvedReview, rejectedReview };
}

/** A program that logs: in colours, on both streams, a line for each request. */
export function talkingApp(version: string): Files {
  const files = nodeApp(version);
  return {
    ...files,
    'svc.yaml': `build: node build.js
start: node server.js
schedules:
  - { name: reminders, cron: "0 7 * * MON-FRI", timezone: Europe/Berlin, run: node build.js }
  - { name: clean-up, cron: "30 2 * * *", path: /clean-up }
`,
    'build.js': `
for (const step of ['Reading 42 modules', 'Bundling', '\\u001b[32mBuilt\\u001b[0m in 0.4 s']) console.log(step);
`,
    'server.js': `
console.log('\\u001b[36mRoom booking\\u001b[0m ${version} begins');
console.error('\\u001b[33mwarning\\u001b[0m: no calendar is connected; bookings stay here');
${files['server.js']}
server.on('request', (request) => console.log(request.method + ' ' + request.url + ' \\u001b[32m200\\u001b[0m'));
`,
  };
}

/**
 * Deployments that failed, are superseded and live; log lines, metrics and variables; the slug of an app of which nothing is
 * deployed yet.
 */
async function fillRun(tenant: Tenant, app: NodeApp) {
  const { owner } = app;
  const set = { CALENDAR_URL: 'https://calendar.example.test', SMTP_PASSWORD: 'kept sealed', MODE: 'office' };
  await done(owner.call('PATCH', `${app.base}/env`, { set }));
  const failedDeployment = await deploy(app, {
    ...talkingApp('one'),
    'build.js': "throw new Error('rooms.json is not there');\n",
  });
  await deploy(app, talkingApp('one'));
  const Procfile = 'reminders: node -e "setInterval(() => console.log(\'nothing is due\'), 60000)"\n';
  const liveDeployment = await deploy(app, { ...talkingApp('two'), Procfile });
  await app.answers('two', 10_000);
  for (const path of ['/', '/rooms', '/rooms/7', '/desks?day=monday']) await app.ask(path);
  await fillMetrics(tenant, app);
  await done(owner.call('POST', `${app.base}/schedules/clean-up/run`));
  const { id: run } = await post(owner, `${app.base}/runs`, { command: 'node build.js; exit 3' });
  await insertPreview(tenant.server, app.id);
  const draft = await newApp(tenant, { owner }, { name: 'Lunch votes', summary: 'Where to today?' });
  return { failedDeployment, liveDeployment, run: run as string, draft: draft.slug };
}

/** Pushes the files, waits until their deployment has ended, and returns its id. */
async function deploy(app: NodeApp, files: Files): Promise<string> {
  app.copy.write(files);
  const commit = await app.copy.push();
  const find = async () => (await app.deployments()).find((each) => each.commit === commit);
  return (await app.ended(await until(`${commit} is deployed`, find, 40_000))).id;
}

/** A week with busy days, quiet nights and a bad hour. */
async function fillMetrics({ server }: Tenant, { id }: NodeApp): Promise<void> {
  await queryDatabase(
    server,
    `insert into svc.app_metrics (app_id, minute, requests, by_status, latency, bytes_out, cpu_ms, memory_bytes)
     select $1, at, n + 3, array[n, 1, case when k % 5 = 0 then 2 else 1 end, case when k % 37 = 0 then 1 else 0 end],
       array[n, n / 2, n / 3, n / 4, 2, case when k % 7 = 0 then 3 else 0 end, case when k % 13 = 0 then 1 else 0 end,
         0, 0, 0, 0, 0],
       n * 5200, 200 + n * 9, 48000000 + (sin(k / 90.0) * 6000000)::bigint
     from (select k, date_trunc('minute', now()) - make_interval(mins => k) as at,
         ((16 + 12 * sin(k / 229.0) + 4 * sin(k / 7.0)) * case when k > 70 then 5 else 1 end)::int as n
       from generate_series(1, 10079) k where k <= 70 or k % 5 = 0) as minutes
     on conflict do nothing`,
    [id],
  );
}
