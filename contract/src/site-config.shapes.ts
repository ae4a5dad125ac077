import { z } from 'zod';
import { manifestPathPattern } from './manifest.ts';
import {
  isRefusedSiteHeader,
  redirectStatuses,
  refusedSiteHeaderPrefixes,
  refusedSiteHeaderSuffixes,
  refusedSiteHeaders,
  siteConfigSchemaPath,
  siteHeaderRulesMax,
  siteHeadersPerRuleMax,
  siteHeaderValueCharsMax,
  sitePatternCharsMax,
  siteRedirectsMax,
  siteVariablePartsMax,
} from './site-config.ts';

const says = (description: string) => ({ description });
const file = z
  .string()
  .regex(manifestPathPattern, 'must be a path inside the folder: relative, with /, without ..');

/** Text of an address: printable ASCII, so that nothing in it can end a header. */
const addressText = z
  .string()
  .min(1)
  .max(sitePatternCharsMax)
  .regex(/^[!-~]+$/, 'must be of printable ASCII characters, others percent-encoded');

/** No part but the last may be `*`: a path is compared once from left to right, whatever is sent. */
const pattern = addressText
  .regex(/^\/[^?#\\]*$/, 'must be a path: / first, without ?, # and backslash')
  .refine((value) => !/\*(?!$)|[^/]\*$/.test(value), { error: 'may have * as its last part only' })
  .refine((value) => !/[^/]:|:(?![A-Za-z][A-Za-z0-9_]*(?:\/|$))/.test(value), {
    error: 'may have :name as a whole part only; a colon itself is %3A',
  })
  .refine((value) => !/[:*]/.test(value) || value.split('/').length - 1 <= siteVariablePartsMax, {
    error: `may have ${siteVariablePartsMax} parts at most, where some of them are :name or *`,
  })
  .refine((value) => new Set(namesIn(value)).size === namesIn(value).length, {
    error: 'must not use a :name twice',
  });

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'must be the name of a header')
  .refine((name) => !isRefusedSiteHeader(name), {
    error: `must be none of ${[...refusedSiteHeaders, ...refusedSiteHeaderPrefixes.map((it) => `${it}*`), ...refusedSiteHeaderSuffixes.map((it) => `*${it}`)].join(', ')}`,
  });
const headerValue = z
  .string()
  .max(siteHeaderValueCharsMax)
  .regex(/^[\t -~\u00a0-\u00ff]*$/, 'must not contain control characters');

const headerRule = z.strictObject({
  path: pattern.meta(says('A path; `*` as its last part stands for anything, `:name` for one part.')),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= siteHeadersPerRuleMax, {
      error: `must be at most ${siteHeadersPerRuleMax} headers`,
    }),
});

const redirect = z
  .strictObject({
    from: pattern.meta(says('A path; `*` as its last part stands for anything, `:name` for one part.')),
    to: addressText
      .regex(/^(?:\/(?![/\\])|https?:\/\/[^/:?#\\*]+(?::\d+)?(?:[/?#]|$))[^\\]*$/, {
        error: 'must be a path, or an address whose host stands there in full',
      })
      .meta(says('A path or a whole address; `:name` and `:splat` stand for what was found in `from`.')),
    status: z
      .union(redirectStatuses.map((status) => z.literal(status)))
      .optional()
      .meta(says('301 when absent.')),
  })
  .superRefine(({ from, to }, ctx) => {
    const known = [...namesIn(from), ...(from.endsWith('/*') ? ['splat'] : [])];
    const unknown = namesIn(to.replace(/^https?:\/\/[^/]*/, '')).find((name) => !known.includes(name));
    if (unknown !== undefined)
      ctx.addIssue({ code: 'custom', path: ['to'], message: `:${unknown} does not stand in from` });
    if (leadsToItself(from, to))
      ctx.addIssue({
        code: 'custom',
        path: ['to'],
        message: 'leads to what from stands for, round and round',
      });
  });

export const SiteConfig = z
  .strictObject({
    index: file.optional().meta(says('The file that answers for a folder; index.html when absent.')),
    spa: z
      .boolean()
      .optional()
      .meta(says('Paths without a file answer with the index of the root; false when absent.')),
    not_found: file
      .optional()
      .meta(says('The file that answers when nothing is found; 404.html when absent.')),
    clean_urls: z.boolean().optional().meta(says('`/about` answers with about.html; true when absent.')),
    trailing_slash: z
      .boolean()
      .optional()
      .meta(says('Whether addresses of pages end with a slash; as the files lie when absent.')),
    headers: z
      .array(headerRule)
      .max(siteHeaderRulesMax)
      .optional()
      .meta(says('Headers by path; all rules that fit count, later ones win.')),
    redirects: z
      .array(redirect)
      .max(siteRedirectsMax)
      .optional()
      .meta(says('Redirects by path, looked at before files; the first that fits counts.')),
  })
  .superRefine((config, ctx) => {
    const at = loopAt(config.redirects ?? []);
    if (at !== null)
      ctx.addIssue({
        code: 'custom',
        path: ['redirects', at, 'to'],
        message: 'leads back to where it began',
      });
  });

function namesIn(text: string): string[] {
  return [...text.matchAll(/:([A-Za-z][A-Za-z0-9_]*)/g)].map(([, name = '']) => name);
}

/** Whether a rule fits where it leads, whatever was found: one that is sent on would be sent on for ever. */
function leadsToItself(from: string, to: string): boolean {
  if (!to.startsWith('/')) return false;
  const parts = from.split('/');
  const target = to.replace(/[?#].*$/, '').split('/');
  const isOpen = parts.at(-1) === '*';
  if (isOpen) parts.pop();
  // Below `/a/*` is also `/a/`; what `:splat` stands for may be of no part or of many.
  if (isOpen ? target.length <= parts.length : target.length !== parts.length) return false;
  return parts.every((part, at) => {
    const there = target[at] ?? '';
    if (there.includes(':splat')) return false;
    return /^:[A-Za-z][A-Za-z0-9_]*$/.test(part) ? there !== '' : part === there;
  });
}

/** The first rule from which one comes back to it by rules without variable parts; null: none. */
function loopAt(redirects: readonly { from: string; to: string }[]): number | null {
  const plain = new Map<string, string>();
  for (const { from, to } of redirects) {
    // What leads to itself is told of on the spot.
    if (!leadsToItself(from, to) && !/[*:]/.test(from) && !plain.has(from)) plain.set(from, to);
  }
  for (const [at, { from }] of redirects.entries()) {
    const seen = new Set<string>();
    for (let next = plain.get(from); next !== undefined; next = plain.get(next)) {
      if (next === from) return at;
      if (seen.has(next)) break;
      seen.add(next);
    }
  }
  return null;
}

/** What editors check a configuration by. */
export function siteConfigJsonSchema({ baseUrl }: { baseUrl: string }): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(SiteConfig, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return {
    $schema,
    $id: `${baseUrl}${siteConfigSchemaPath}`,
    title: 'Site configuration',
    description: 'How the files of a site are served; `site` in svc.yaml holds the same.',
    ...rest,
  };
}
