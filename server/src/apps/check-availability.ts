import { appSlug, subdomain as subdomainShape } from '@svc/contract/apps.shapes.ts';
import { reservedSlugs, reservedSubdomains } from '@svc/contract/apps.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { slugsLike, subdomainsFor } from './names.ts';
import { freeSlugs, freeSubdomains } from './names-store.ts';

interface Asked {
  slug?: string | undefined;
  subdomain?: string | undefined;
}

const suggestionsMax = 3;

/** Of names alone: whose a taken one is, nobody learns. */
export async function checkAvailability(ctx: TenantCtx, asked: Asked) {
  const { id, slug: tenantSlug } = ctx.tenant;
  const slug =
    asked.slug === undefined
      ? null
      : await judge(asked.slug, {
          isValid: (name) => appSlug.safeParse(name).success,
          reserved: reservedSlugs,
          free: (names) => freeSlugs(ctx.db, id, names),
          like: slugsLike,
        });
  const subdomain =
    asked.subdomain === undefined
      ? null
      : await judge(asked.subdomain, {
          isValid: (name) => subdomainShape.safeParse(name).success,
          reserved: reservedSubdomains,
          free: (names) => freeSubdomains(ctx.db, id, names),
          like: (name) => [...subdomainsFor(name, tenantSlug), ...slugsLike(name)],
        });
  return { available: [slug, subdomain].every((name) => name === null || name.available), slug, subdomain };
}

interface NameRules {
  isValid: (name: string) => boolean;
  reserved: readonly string[];
  free: (names: readonly string[]) => Promise<string[]>;
  like: (name: string) => string[];
}

async function judge(name: string, { isValid, reserved, free, like }: NameRules) {
  const reason = reserved.includes(name)
    ? 'reserved'
    : !isValid(name)
      ? 'invalid'
      : (await free([name])).length === 0
        ? 'taken'
        : null;
  const candidates =
    reason === null
      ? []
      : [usable(name), ...like(usable(name))].filter((other) => other !== name && isValid(other));
  const suggestions = candidates.length === 0 ? [] : (await free(candidates)).slice(0, suggestionsMax);
  return { name, available: reason === null, reason, suggestions } as const;
}

/** What can be made of a name that is none: `My_Shop` → `my-shop`. */
function usable(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 50);
}
