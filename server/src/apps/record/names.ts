import { appSlug, subdomain as subdomainShape } from '@svc/contract/apps.shapes.ts';
import { reservedSlugs, reservedSubdomains } from '@svc/contract/apps.ts';
import { slugPattern } from '@svc/contract/limits.ts';
import type { TenantCtx } from '../../core/context.ts';
import { filterFreeSlugs, filterFreeSubdomains } from './store.ts';

const suggestionsMax = 3;

export async function checkAvailability(ctx: TenantCtx, query: { slug?: string; subdomain?: string }) {
  const { id, slug: tenantSlug } = ctx.tenant;
  const slug = await checkName(query.slug, {
    isValid: (name) => appSlug.safeParse(name).success,
    reserved: reservedSlugs,
    free: (names) => filterFreeSlugs(ctx.db, id, names),
    suggest: candidateSlugs,
  });
  const subdomain = await checkName(query.subdomain, {
    isValid: (name) => subdomainShape.safeParse(name).success,
    reserved: reservedSubdomains,
    free: (names) => filterFreeSubdomains(ctx.db, id, names),
    suggest: (name) => [...candidateSubdomains(name, tenantSlug), ...candidateSlugs(name)],
  });
  return { available: [slug, subdomain].every((name) => name === null || name.available), slug, subdomain };
}

interface NameRules {
  isValid: (name: string) => boolean;
  reserved: readonly string[];
  free: (names: readonly string[]) => Promise<string[]>;
  suggest: (name: string) => string[];
}

async function checkName(name: string | undefined, { isValid, reserved, free, suggest }: NameRules) {
  if (name === undefined) return null;
  const reason = reserved.includes(name)
    ? 'reserved'
    : !isValid(name)
      ? 'invalid'
      : (await free([name])).length === 0
        ? 'taken'
        : null;
  const normalized = normalizeName(name);
  const candidates = [normalized, ...suggest(normalized)].filter((other) => other !== name && isValid(other));
  const suggestions = reason === null ? [] : (await free(candidates)).slice(0, suggestionsMax);
  return { name, available: reason === null, reason, suggestions } as const;
}

function normalizeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 50);
}

const charsMax = 63;
const numberedMax = 30;

export function candidateSubdomains(slug: string, tenantSlug: string): string[] {
  const plain = slug.replace(/-{2,}/g, '-');
  const long = `${plain}-${tenantSlug}`.replace(/-{2,}/g, '-');
  const numbered = numbers.map((number) => withSuffix(plain, `-${number}`));
  return [plain, withSuffix(long, ''), ...numbered].filter(isSubdomain);
}

function candidateSlugs(slug: string): string[] {
  return ['-app', '-web', ...numbers.map((number) => `-${number}`)].map((suffix) => withSuffix(slug, suffix));
}

function isSubdomain(text: string): boolean {
  return slugPattern.test(text) && !text.includes('--') && !reservedSubdomains.includes(text);
}

const numbers = Array.from({ length: numberedMax }, (_, at) => at + 2);

function withSuffix(text: string, suffix: string): string {
  return text.slice(0, charsMax - suffix.length).replace(/-+$/, '') + suffix;
}
