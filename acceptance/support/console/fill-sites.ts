import type { Person, Tenant } from '../people.ts';
import { done } from '../rows-proof.ts';

const plan =
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="200"><rect width="320" height="200" fill="#e7ecff"/><rect x="20" y="20" width="120" height="70" fill="#4263eb"/><rect x="170" y="60" width="110" height="110" fill="#748ffc"/></svg>';

/** Files in folders, and two domains that wait for their records. */
export async function fillSites(
  tenant: Pick<Tenant, 'base'>,
  app: { id: string },
  owner: Person,
): Promise<void> {
  const base = `${tenant.base}/apps/${app.id}`;
  await done(owner.call('POST', `${base}/storage/enable`));
  const files = [
    { key: 'house-rules.txt', content_type: 'text/plain', body: 'Leave the room as you found it.\n' },
    { key: 'floor-plans/first.svg', content_type: 'image/svg+xml', body: plan },
    { key: 'floor-plans/second.svg', content_type: 'image/svg+xml', body: plan },
    { key: 'exports/2027/january.csv', content_type: 'text/csv', body: 'room,seats\nSun deck,12\n' },
  ];
  for (const { key, content_type, body } of files) {
    const { put_url, headers } = await done(
      owner.call('POST', `${base}/storage/upload-url`, { key, content_type }),
    );
    const sent = await fetch(put_url, { method: 'PUT', headers, body });
    if (!sent.ok) throw new Error(`A file was not taken: ${sent.status} ${await sent.text()}`);
  }
  for (const host of ['rooms.northwind.example', 'büro.northwind.example'])
    await done(owner.call('POST', `${base}/domains`, { host }));
}
