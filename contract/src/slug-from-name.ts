import { slugPattern, uuidPattern } from './limits.ts';

/** A slug from a name: `Sales DB (EU)` → `sales-db-eu`; null when nothing usable is left. */
export function slugFromName(name: string): string | null {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '');
  // Things are named by id or by slug in the same place.
  return slugPattern.test(slug) && !uuidPattern.test(slug) ? slug : null;
}
