import { done, type Person, type Tenant } from '../people.ts';
import { insertLines } from '../rows.ts';

const post = (by: Person, path: string, body?: unknown) => done(by.call('POST', path, body));

/** A connector whose rows a member can open, some of them masked: the tables of an app of the admin. */
export async function fillData({ base, slug, admin, member }: Tenant): Promise<void> {
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
