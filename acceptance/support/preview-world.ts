import { setApp } from './database.ts';
import { done, newTenant, type Person } from './people.ts';

/** A connector `warehouse` over the tables of the admin's app `shop`, and the app `lunch` for tables with rules. */
export async function previewWorld() {
  const t = await newTenant();
  const { admin, base } = t;
  for (const slug of ['shop', 'lunch']) {
    const { id } = await done(admin.call('POST', `${base}/apps`, { name: slug, slug }));
    await setApp(t.server, id, { visibility: 'public' });
  }
  const columns = ['id:int', 'region:text', 'customer:text', 'email:text', 'total:int'];
  await done(admin.call('POST', `${base}/apps/shop/tables`, { name: 'orders', columns }));
  await done(admin.call('POST', `${base}/apps/shop/tables`, { name: 'empty', columns: ['a:int'] }));
  const row = (id: number, region: string, customer: string) => ({
    id,
    region,
    customer,
    email: `${customer.toLowerCase()}@example.com`,
    total: id * 10,
  });
  const rows = [
    row(1, 'eu', 'Ada'),
    row(2, 'eu', 'Bob'),
    row(3, 'us', 'Cem'),
    row(4, 'us', 'Dan'),
    row(5, 'ap', 'Eve'),
  ];
  for (const each of rows) await done(admin.call('POST', `/data/${t.slug}/shop/orders`, each));
  const connector = { name: 'warehouse', kind: 'tables', app: 'shop' };
  const connectorId: string = (await done(admin.call('POST', `${base}/connectors`, connector))).id;

  const policy = async (name: string, fields: Record<string, unknown>): Promise<string> =>
    (
      await done(
        t.admin.call('POST', `${t.base}/access-policies`, { name, connector_id: connectorId, ...fields }),
      )
    ).id;
  const preset = async (name: string, ...actions: string[]): Promise<string> =>
    (await done(t.admin.call('POST', `${t.base}/presets`, { name, actions }))).id;
  const grant = async (person: Person, fields: Record<string, unknown> = {}): Promise<string> =>
    (
      await done(
        t.admin.call('POST', `${t.base}/grants`, {
          subject_id: person.id,
          connector_id: connectorId,
          preset_id: 'reader',
          ...fields,
        }),
      )
    ).id;
  const preview = (as: Person, fields: Record<string, unknown> = {}, by = t.admin) =>
    by.call('POST', `${t.base}/access/preview`, {
      as: as.email,
      connector: 'warehouse',
      resource_path: 'shop/orders',
      ...fields,
    });
  const inApp = (as: Person, table: string, fields: Record<string, unknown> = {}, by = t.admin) =>
    by.call('POST', `${t.base}/access/preview`, { as: as.email, app: 'lunch', table, ...fields });
  const own = (person: Person, path = 'shop/orders') =>
    person.call('GET', `/data/${t.slug}/_connectors/warehouse/${path}/_access`);
  const rules = (name: string, access: unknown, more: object = {}) =>
    done(
      t.admin.call('POST', `${t.base}/apps/lunch/tables`, {
        name,
        columns: ['by:uuid', 'n:int'],
        access,
        ...more,
      }),
    );

  return { t, connectorId, policy, preset, grant, preview, inApp, own, rules };
}

export type PreviewWorld = Awaited<ReturnType<typeof previewWorld>>;
