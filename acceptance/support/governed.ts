import { setApp } from './database.ts';
import { done, type Person } from './people.ts';
import { rowsWorld } from './rows.ts';
import type { RunningServer } from './server.ts';
import { connectionTo, type Warehouse } from './warehouses.ts';

export type GovernedWorld = Awaited<ReturnType<typeof governedWorld>>;

/** An app whose tables are behind a connector, so that grants and policies apply to them. */
export async function governedWorld(on?: RunningServer) {
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
    pathOf: ({ name }: { name: string }) => `${app.slug}/${name}`,
    /** Behind the connector of the app's tables, unless the fields name another one. */
    policy: (resource_path: string, fields: Record<string, unknown>) => {
      const named = { name: unique('policy'), connector_id: connectorId, resource_path };
      return create('access-policies', { ...named, ...fields });
    },
    preset: (...actions: string[]) => create('presets', { name: unique('preset'), actions }),
    grant: (person: Pick<Person, 'id'>, path: string, fields: Record<string, unknown> = {}) => {
      const reader = { subject_id: person.id, connector_id: connectorId, preset_id: 'reader' };
      return create('grants', { ...reader, scope_resource_paths: [path], ...fields });
    },
    /** A connector of a database outside, with its tables. */
    async connect(warehouse: Warehouse, login: 'reader' | 'writer' = 'reader') {
      const { kind } = warehouse;
      const connection = connectionTo(warehouse, login);
      const id = await create('connectors', { name: kind, kind, connection, writable: login === 'writer' });
      await done(admin.call('POST', `${base}/connectors/${id}/schema/refresh`));
      return id;
    },
  };
}
