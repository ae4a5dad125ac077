import { slugFromName } from '@svc/contract/slug-from-name.ts';

/** What somebody types for a new app; empty fields are made from the others. */
export interface AppNames {
  name: string;
  slug: string;
  subdomain: string;
}

export const noNames: AppNames = { name: '', slug: '', subdomain: '' };

/** What the app would be called; empty where nothing usable is said yet. */
export function namesOf({ name, slug, subdomain }: AppNames): { slug: string; subdomain: string } {
  const called = slug.trim() || (slugFromName(name) ?? '');
  return { slug: called, subdomain: subdomain.trim() || called };
}
