import type { Tenant } from '../people.ts';
import { done } from '../rows-proof.ts';

/** What tenant admins look after, with one of each to open. */
export interface Governed {
  category: string;
  connector: string;
  preset: string;
  policy: string;
  grant: string;
}

export async function fillAdmin({ base, admin, member }: Tenant): Promise<Governed> {
  const make = (path: string, body: unknown) => done(admin.call('POST', `${base}/${path}`, body));
  const category = await make('categories', {
    name: 'Workplace',
    description: 'Rooms, desks, lunch and everything else around the office',
    color: '#1971c2',
    display_order: 1,
  });
  await make('categories', { name: 'Finance', color: '#2f9e44', display_order: 2 });
  const connector = await make('connectors', {
    name: 'Warehouse',
    kind: 'postgres',
    description: 'Orders, customers and stock, renewed each night',
  });
  await make('connectors', { name: 'Ticket system', kind: 'http' });
  const preset = await make('presets', {
    name: 'exporter',
    actions: ['read', 'export'],
    description: 'May read, and take away what they read.',
  });
  const policy = await make('access-policies', {
    name: 'Own region',
    description: 'Sales people see customers of Europe, and no whole address.',
    connector_id: connector.id,
    resource_path: 'sales/customers',
    row_filter: 'region=eq.eu&or=(age.gte.18,and(vip.is.true,country.in.(de,fr,"it,ch")))',
    columns: { mode: 'deny', names: ['password_hash'] },
    masks: [
      { column: 'email', kind: 'partial', args: { keep: 4 } },
      { column: 'phone', kind: 'constant', args: { value: 'on request' } },
    ],
  });
  await make('access-policies', {
    name: 'No salaries',
    columns: { mode: 'deny', names: ['salary'] },
    enabled: false,
  });
  const grant = await make('grants', {
    subject_id: member.id,
    connector_id: connector.id,
    preset_id: preset.id,
    policy_ids: [policy.id],
    scope_resource_paths: ['sales/customers', 'sales/orders', 'stock'],
    reason: 'Quarterly report',
    expires_at: '2099-01-01T00:00:00Z',
  });
  const past = await make('grants', { subject_id: admin.id, connector_id: connector.id, preset_id: 'admin' });
  await make(`grants/${past.id}/revoke`, { reason: 'was for the migration' });
  await done(
    member.call('POST', `${base}/pats`, { name: 'CI of the booking app', actions: ['read', 'write'] }),
  );
  return {
    category: category.id,
    connector: connector.id,
    preset: preset.id,
    policy: policy.id,
    grant: grant.id,
  };
}
