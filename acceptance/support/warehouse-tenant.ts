import { done, newTenant, type Person, type Tenant } from './people.ts';
import { readerPassword, type Warehouse } from './warehouses.ts';

export interface WarehouseTenant<T extends Tenant = Tenant> {
  t: T;
  connectorId: string;
  grant(person: Person, fields?: Record<string, unknown>): Promise<string>;
  policy(fields: Record<string, unknown>): Promise<string>;
}

/** A tenant with the connector `warehouse`, whose schema is known. */
export async function newWarehouseTenant<T extends Tenant>(
  warehouse: Warehouse,
  within: T,
): Promise<WarehouseTenant<T>>;
export async function newWarehouseTenant(warehouse: Warehouse): Promise<WarehouseTenant>;
export async function newWarehouseTenant({ kind, port, database }: Warehouse, within?: Tenant) {
  const t = within ?? (await newTenant());
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
    grant: async (person: Person, fields: Record<string, unknown> = {}) => {
      const granted = {
        subject_id: person.id,
        connector_id: connectorId,
        preset_id: 'reader',
        scope_resource_paths: ['sales/orders'],
        ...fields,
      };
      return (await done(t.admin.call('POST', `${t.base}/grants`, granted))).id;
    },
    policy: async (fields: Record<string, unknown>) => {
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
