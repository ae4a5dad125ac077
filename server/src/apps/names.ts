import { reservedSubdomains } from '@svc/contract/apps.ts';
import { slugPattern } from '@svc/contract/limits.ts';

const charsMax = 63;
const numberedMax = 30;

/** Hosts an app may get that asked for none, the nicest first: its slug, with its tenant's, numbered. */
export function subdomainsFor(slug: string, tenantSlug: string): string[] {
  const plain = slug.replace(/-{2,}/g, '-');
  const long = `${plain}-${tenantSlug}`.replace(/-{2,}/g, '-');
  const numbered = numbers.map((number) => withEnd(plain, `-${number}`));
  return [plain, withEnd(long, ''), ...numbered].filter(isSubdomain);
}

/** Slugs like one that is taken. */
export function slugsLike(slug: string): string[] {
  return [...['-app', '-web'], ...numbers.map((number) => `-${number}`)].map((end) => withEnd(slug, end));
}

export function isSubdomain(text: string): boolean {
  return slugPattern.test(text) && !text.includes('--') && !reservedSubdomains.includes(text);
}

const numbers = Array.from({ length: numberedMax }, (_, at) => at + 2);

function withEnd(text: string, end: string): string {
  return text.slice(0, charsMax - end.length).replace(/-+$/, '') + end;
}
