import { slugFromName } from '@svc/contract/slug-from-name.ts';

export interface AppNames {
  name: string;
  slug: string;
  subdomain: string;
}

export const emptyNames: AppNames = { name: '', slug: '', subdomain: '' };

export function resolveNames({ name, slug, subdomain }: AppNames): { slug: string; subdomain: string } {
  const called = slug.trim() || (slugFromName(name) ?? '');
  return { slug: called, subdomain: subdomain.trim() || called };
}
