import type { Person, Tenant } from '../people.ts';
import { done } from '../rows-proof.ts';
import { newRelease } from '../sites.ts';

/** Apps that are shown to others, and one that waits to be. */
export interface Published {
  /** Slugs. */
  lunch: string;
  travel: string;
  /** Requests to publish them. */
  openReview: string;
  approvedReview: string;
  rejectedReview: string;
}

/** Needs the categories of the tenant. */
export async function fillPeople(tenant: Tenant, owner: Person, member: Person): Promise<Published> {
  const newSite = async (fields: { name: string; summary: string; category?: string }) => {
    const app = await done(owner.call('POST', `${tenant.base}/apps`, { ...fields, deploy_method: 'static' }));
    const base = `${tenant.base}/apps/${app.id}/static`;
    const page = `<!doctype html><html lang="en"><title>${fields.name}</title><h1>${fields.name}</h1></html>`;
    await newRelease({ owner, base }, { 'index.html': page }, { version: '1.0', on_finalize: 'deploy' });
    return { id: String(app.id), slug: String(app.slug) };
  };
  const ask = async (app: { id: string }, visibility: string, note: string): Promise<string> => {
    const path = `${tenant.base}/apps/${app.id}/publication-requests`;
    return (await done(owner.call('POST', path, { visibility, note }))).id;
  };
  const decide = (id: string, move: 'approve' | 'reject', body: object) =>
    done(tenant.admin.call('POST', `${tenant.base}/publication-requests/${id}/${move}`, body));

  const [lunch, expenses, travel] = await Promise.all([
    newSite({ name: 'Lunch menu', summary: 'What there is to eat this week', category: 'workplace' }),
    newSite({ name: 'Expenses', summary: 'Hand in receipts, get the money back', category: 'finance' }),
    newSite({ name: 'Travel', summary: 'Trains, flights and who is away' }),
  ]);
  const approvedReview = await ask(lunch, 'internet', 'So that guests find it from their phones.');
  await decide(approvedReview, 'approve', { note: 'Nothing secret in it.' });
  await decide(await ask(expenses, 'public', ''), 'approve', { note: '' });
  const rejectedReview = await ask(travel, 'internet', 'For our partners.');
  await decide(rejectedReview, 'reject', { reason: 'The list of who is away is not for the world.' });
  const openReview = await ask(travel, 'public', 'Names are gone; now it is for all of us.');

  const base = `${tenant.base}/apps/${travel.id}`;
  await done(owner.call('POST', `${base}/members`, { user_id: member.id }));
  await done(owner.call('POST', `${base}/co-owners`, { user_id: tenant.admin.id }));
  await done(owner.call('PUT', `${base}/inspection-consent`, { granted: true }));
  const inspection = { what: 'tables', reason: 'Is there personal data in it?' };
  await done(tenant.admin.call('POST', `${base}/inspections`, inspection));
  return { lunch: lunch.slug, travel: travel.slug, openReview, approvedReview, rejectedReview };
}
