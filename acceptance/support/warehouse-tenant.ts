import { done, newTenant, type Person, type Tenant } from './people.ts';
import type { RunningServer } from './server.ts';
import { readerPassword, type Warehouse } from './warehouses.ts';

export interface WarehouseTenant {
  t: Tenant;
  connectorId: string;
  grant(person: Person, fields?: Record<string, unknown>): Promise<string>;
  policy(fields: Record<string, unknown>): Promise<string>;
}

/** A tenant with the connector `warehouse`, whose schema is known. */
export async function newWarehouseTenant(
  { kind, port, database }: Warehouse,
  on?: RunningServer,
): Promise<WarehouseTenant> {
  const t = await newTenant(on);
  const connection = {
    host: 'localhost',
    port,
    database,
    username: 'reader',
    password: readerPassword,
    tls: 'require',
  };
  const body = { name: 'Warehouse', slug: 'warehouse', kind, connection };
  const { id: connectorId } = await done(t.admin.call('POST', `${t.base}/connectors`, body));
  await done(t.admin.call('POST', `${t.base}/connectors/warehouse/schema/refresh`));
  return {
    t,
    connectorId,
    grant: async (person, fields = {}) => {
      const granted = {
        subject_id: person.id,
        connector_id: connectorId,
        preset_id: 'reader',
        scope_resource_paths: ['sales/orders'],
        ...fields,
      };
      return (await done(t.admin.call('POST', `${t.base}/grants`, granted))).id;
    },
    policy: async (fields) => {
      const named = { name: 'Policy', connector_id: connectorId, resource_path: 'sales/orders', ...fields };
      return (await done(t.admin.call('POST', `${t.base}/access-policies`, named))).id;
    },
  };
}

export const salesOrders = `create table sales.orders (id int primary key, region varchar(20), customer varchar(100) not null,
    email varchar(100), total numeric(12, 2));
  insert into sales.orders values
    (1, 'eu', 'Ada', 'ada@example.com', 10.50), (2, 'eu', 'Bob', 'bob@example.com', 200),
    (3, 'us', 'Zoe', 'zoe@example.com', 1000)`;
