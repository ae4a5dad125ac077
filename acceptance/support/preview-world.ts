import { jsonOutput, svcFor } from './commands.ts';
import { setApp } from './database.ts';
import { type Answered, done, newTenant, type Person } from './people.ts';

/** How access is set and previewed. */
export type PreviewDriver = 'HTTP' | 'svc';

/** A connector `warehouse` over the tables of the admin's app `shop`, and the app `lunch` for tables with rules. */
export async function previewWorld(driver: PreviewDriver = 'HTTP') {
  const t = await newTenant();
  const { admin, base } = t;
  for (const slug of ['shop', 'lunch']) {
    const { id } = await done(admin.call('POST', `${base}/apps`, { name: slug, slug }));
    await setApp(t.server, id, { visibility: 'public' });
  }
  const columns = ['id:int', 'region:text', 'customer:text', 'email:text', 'total:int'];
  await done(admin.call('POST', `${base}/apps/shop/tables`, { name: 'orders', columns }));
  await done(admin.call('POST', `${base}/apps/shop/tables`, { name: 'empty', columns: ['a:int'] }));
  for (const [at, each] of ['eu Ada', 'eu Bob', 'us Cem', 'us Dan', 'ap Eve'].entries()) {
    const [region, customer = ''] = each.split(' ');
    const email = `${customer.toLowerCase()}@example.com`;
    const row = { id: at + 1, region, customer, email, total: (at + 1) * 10 };
    await done(admin.call('POST', `/data/${t.slug}/shop/orders`, row));
  }
  const connector = { name: 'warehouse', kind: 'tables', app: 'shop' };
  const connectorId: string = (await done(admin.call('POST', `${base}/connectors`, connector))).id;

  const svc = svcFor(t.server, { token: admin.token, tenant: t.slug });
  const createWithSvc = async (input: unknown, ...line: string[]) => {
    const ran = await svc([...line, '--execute', '--json'], { stdin: JSON.stringify(input) });
    if (ran.code !== 0) throw new Error(`svc ${line.join(' ')} ended with ${ran.code}: ${ran.stderr}`);
    return ran.json<{ id: string }>().id;
  };
  const create = async (collection: string, body: object): Promise<string> =>
    (await done(admin.call('POST', `${base}/${collection}`, body))).id;

  const policy = (name: string, fields: Record<string, unknown>): Promise<string> => {
    const body = { name, connector_id: connectorId, ...fields };
    if (driver === 'HTTP') return create('access-policies', body);
    return createWithSvc(body, 'policies', 'create', '--from-file', '-');
  };
  const preset = (name: string, ...actions: string[]): Promise<string> =>
    driver === 'HTTP'
      ? create('presets', { name, actions })
      : createWithSvc(null, 'presets', 'create', '--name', name, '--actions', actions.join());
  const grant = (person: Person, fields: Record<string, unknown> = {}): Promise<string> => {
    const reader = { subject_id: person.id, connector_id: connectorId, preset_id: 'reader' };
    if (driver === 'HTTP') return create('grants', { ...reader, ...fields });
    const flags = [
      '--subject',
      person.email,
      '--connector',
      'warehouse',
      '--preset',
      String(fields.preset_id ?? 'reader'),
      ...[fields.policy_ids ?? []].flat().flatMap((id) => ['--policy', String(id)]),
      ...[fields.scope_resource_paths ?? []].flat().flatMap((path) => ['--scope', String(path)]),
      ...(fields.expires_at ? ['--expires-at', String(fields.expires_at)] : []),
    ];
    return createWithSvc(null, 'grants', 'create', ...flags);
  };
  const revoke = (id: string): Promise<unknown> =>
    driver === 'HTTP'
      ? done(admin.call('POST', `${base}/grants/${id}/revoke`, {}))
      : createWithSvc(null, 'grants', 'revoke', id);

  const ask = async (body: Record<string, unknown>, by: Person): Promise<Answered> => {
    if (driver === 'HTTP') return by.call('POST', `${base}/access/preview`, body);
    const flags = Object.entries(body).flatMap(([name, value]) => [
      `--${name.replaceAll('_', '-')}`,
      String(value),
    ]);
    const { stdout } = await svc(['access', 'preview', ...flags]);
    const answer = await jsonOutput(svc, 'access', 'preview', ...flags);
    // What a person reads begins with the explanation.
    return {
      status: 200,
      headers: new Headers(),
      text: stdout,
      body: { ...answer, text: stdout.split('\n')[0] },
    };
  };
  const preview = (as: Person, fields: Record<string, unknown> = {}, by = t.admin) =>
    ask({ as: as.email, connector: 'warehouse', resource_path: 'shop/orders', ...fields }, by);
  const inApp = (as: Person, table: string, fields: Record<string, unknown> = {}, by = t.admin) =>
    ask({ as: as.email, app: 'lunch', table, ...fields }, by);
  const own = (person: Person, path = 'shop/orders') =>
    person.call('GET', `/data/${t.slug}/_connectors/warehouse/${path}/_access`);
  const rules = (name: string, access: unknown, more: object = {}): Promise<unknown> => {
    const body = { columns: ['by:uuid', 'n:int'], access, ...more };
    if (driver === 'HTTP') return create('apps/lunch/tables', { name, ...body });
    return createWithSvc(body, 'tables', 'create', name, '--app', 'lunch', '--schema', '-');
  };

  return { t, connectorId, policy, preset, grant, revoke, preview, inApp, own, rules };
}

export type PreviewWorld = Awaited<ReturnType<typeof previewWorld>>;
