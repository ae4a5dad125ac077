import { slugPattern, uuidPattern } from './limits.ts';

export function slugFromName(name: string): string | null {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '');
  return slugPattern.test(slug) && !uuidPattern.test(slug) ? slug : null;
}
