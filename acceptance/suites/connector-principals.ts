import { newAppToken } from '../../server/src/identity/app-identity/app-tokens.ts';
import { openServerDatabase } from '../support/database.ts';
import type { GovernedWorld } from '../support/governed.ts';
import { bearer, type Call, caller, done, newApp, newMember, type Person } from '../support/people.ts';
import type { Warehouse } from '../support/warehouses.ts';
import { type Cell, type Group, groupNames, type Principal, type Row } from './grants-model.ts';

const table = 'things';

/** A table behind a connector. */
export interface Source {
  connectorId: string;
  connector: string;
  /** `schema/table`, as in data scopes. */
  table: string;
  /** Where the rows are read. */
  path: string;
}

export async function openSource(
  world: GovernedWorld,
  warehouse: Warehouse | null,
  rows: readonly Row[],
): Promise<Source> {
  const base = `/data/${world.tenant.slug}/_connectors`;
  if (!warehouse) {
    const specs = ['id:int', 'region:text', 'team:text', 'email:text:nullable', 'n:int:nullable'];
    const { name, insert } = await world.table(specs, { access: 'closed' });
    await insert(...rows);
    const behind = `${world.app.slug}/${name}`;
    return {
      connectorId: world.connectorId,
      connector: 'tables',
      table: behind,
      path: `${base}/tables/${behind}`,
    };
  }
  const literal = (value: Cell) => (typeof value === 'string' ? `'${value}'` : String(value));
  const values = rows.map((row) => `(${Object.values(row).map(literal).join(', ')})`);
  await warehouse.query(
    `create table sales.${table} (id int primary key, region varchar(20) not null, team varchar(60) not null,
      email varchar(60), n int); insert into sales.${table} values ${values.join(', ')}`,
  );
  const connectorId = await world.connect(warehouse, 'writer');
  const { kind } = warehouse;
  return { connectorId, connector: kind, table: `sales/${table}`, path: `${base}/${kind}/sales/${table}` };
}

export async function newPrincipals(
  world: GovernedWorld,
  path: string,
): Promise<{ principals: Principal[]; people: Person[] }> {
  const { tenant, server, owner } = world;
  const call = (token: string) => caller(server, bearer({ token }), path);
  const names = ['ada', 'ben', 'cem', 'auditor'];
  const people = await Promise.all(names.map(() => newMember(tenant)));
  const principals = [...people, tenant.admin].map(
    ({ id, email, token }, at): Principal => ({
      name: names[at] ?? 'admin',
      kind: 'user',
      id,
      email,
      region: null,
      call: call(token),
    }),
  );
  const app = await newApp(tenant, { owner });
  principals.push(
    { name: 'app', kind: 'app', id: app.id, email: '', region: null, call: call(await appToken(world, app)) },
    await newServiceAccount(world, app.slug, call),
  );
  return { principals, people };
}

/** The token that a running instance of the app gets. */
export async function appToken(
  { server, tenant }: Pick<GovernedWorld, 'server' | 'tenant'>,
  app: { id: string },
): Promise<string> {
  const now = new Date();
  const { secret, row } = newAppToken(
    'svcapp_',
    {
      tenant_id: tenant.id,
      app_id: app.id,
      kind: 'app',
      name: 'test',
      expires_at: new Date(now.getTime() + 3_600_000),
    },
    now,
  );
  const database = openServerDatabase(server);
  const names = Object.keys(row);
  const places = names.map((_, at) => `$${at + 1}`);
  await database.query(
    `insert into svc.app_tokens (${names.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  );
  await database.close();
  return secret;
}

async function newServiceAccount(
  { owner, tenant }: GovernedWorld,
  slug: string,
  call: (token: string) => Call,
): Promise<Principal> {
  const accounts = `${tenant.base}/apps/${slug}/service-accounts`;
  const { id } = await done(owner.call('POST', accounts, { name: 'nightly', actions: ['rows'] }));
  const { secret } = await done(owner.call('POST', `${accounts}/${id}/tokens`, { name: 'test' }));
  return {
    name: 'service account',
    kind: 'service_account',
    id,
    email: '',
    region: null,
    call: call(secret),
  };
}

export async function newGroups({ tenant: { admin, base } }: GovernedWorld): Promise<Group[]> {
  const created: Group[] = [];
  for (const name of groupNames)
    created.push({
      name,
      id: (await done(admin.call('POST', `${base}/groups`, { name }))).id,
      members: new Set(),
    });
  return created;
}
