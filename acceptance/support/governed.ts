import { setApp } from './database.ts';
import { done, type Person } from './people.ts';
import { type RowsWorld, rowsWorld } from './rows.ts';
import type { RunningServer } from './server.ts';
import { readerPassword, type Warehouse, writerPassword } from './warehouses.ts';

/** An app whose tables are behind a connector, so that grants and policies apply to them. */
export interface GovernedWorld extends RowsWorld {
  connectorId: string;
  /** `<app>/<table>`, as in scopes and policies. */
  pathOf(table: { name: string }): string;
  /** Behind the connector of the app's tables, unless the fields name another one. */
  policy(path: string, fields: Record<string, unknown>): Promise<string>;
  preset(...actions: string[]): Promise<string>;
  grant(person: Pick<Person, 'id'>, path: string, fields?: Record<string, unknown>): Promise<string>;
  /** A connector of a database outside, with its tables. */
  connect(warehouse: Warehouse, login?: 'reader' | 'writer'): Promise<string>;
}

export async function governedWorld(on?: RunningServer): Promise<GovernedWorld> {
  const world = await rowsWorld(on);
  const { tenant, owner, app, server } = world;
  await setApp(server, app.id, { visibility: 'public' });
  const { admin, base } = tenant;
  // Only an owner of the app can open its tables by a connector.
  await done(admin.call('PATCH', `${base}/members/${owner.id}`, { role: 'tenant_admin' }));
  const create = async (collection: string, body: object, by = admin) =>
    (await done(by.call('POST', `${base}/${collection}`, body))).id as string;
  const connector = { name: 'Tables', slug: 'tables', kind: 'tables', app: app.slug, writable: true };
  const connectorId = await create('connectors', connector, owner);
  const unique = (word: string) => `${word}-${Bun.randomUUIDv7()}`;
  return {
    ...world,
    connectorId,
    pathOf: ({ name }) => `${app.slug}/${name}`,
    policy: (resource_path, fields) =>
      create('access-policies', {
        name: unique('policy'),
        connector_id: connectorId,
        resource_path,
        ...fields,
      }),
    preset: (...actions) => create('presets', { name: unique('preset'), actions }),
    grant: (person, path, fields = {}) =>
      create('grants', {
        subject_id: person.id,
        connector_id: connectorId,
        preset_id: 'reader',
        scope_resource_paths: [path],
        ...fields,
      }),
    async connect({ kind, port, database }, login = 'reader') {
      const password = login === 'reader' ? readerPassword : writerPassword;
      const connection = { host: 'localhost', port, database, username: login, password, tls: 'require' };
      const id = await create('connectors', { name: kind, kind, connection, writable: login === 'writer' });
      await done(admin.call('POST', `${base}/connectors/${id}/schema/refresh`));
      return id;
    },
  };
}
