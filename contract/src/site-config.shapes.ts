import { z } from 'zod';
import { manifestPathPattern } from './manifest.ts';
import {
  isRefusedSiteHeader,
  redirectStatuses,
  refusedSiteHeaderPrefixes,
  refusedSiteHeaderSuffixes,
  refusedSiteHeaders,
  rewriteStatus,
  siteConfigSchemaPath,
  siteHeaderRulesMax,
  siteHeadersPerRuleMax,
  siteHeaderValueCharsMax,
  sitePatternCharsMax,
  siteRedirectsMax,
  siteVariablePartsMax,
} from './site-config.ts';

export const says = (description: string) => ({ description });
export const folderPath = z
  .string()
  .regex(manifestPathPattern, 'must be a path inside the folder: relative, with /, without ..');

/** Printable ASCII, so that no value can end a header. */
const addressText = z
  .string()
  .min(1)
  .max(sitePatternCharsMax)
  .regex(/^[!-~]+$/, 'must be of printable ASCII characters, others percent-encoded');

/** `*` only as the last segment: a path is matched once from left to right, whatever is sent. */
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

export const headerRule = z.strictObject({
  path: pattern.meta(says('A path; `*` as the last segment matches anything, `:name` matches one segment.')),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= siteHeadersPerRuleMax, {
      error: `must be at most ${siteHeadersPerRuleMax} headers`,
    }),
});

export const redirectRule = z
  .strictObject({
    from: pattern.meta(
      says('A path; `*` as the last segment matches anything, `:name` matches one segment.'),
    ),
    to: addressText
      .regex(/^(?:\/(?![/\\])|https?:\/\/[^/:?#\\*]+(?::\d+)?(?:[/?#]|$))[^\\]*$/, {
        error: 'must be a path, or a URL with a complete host name',
      })
      .meta(says('A path or a URL; `:name` and `:splat` are replaced by what matched in `from`.')),
    status: z
      .union([rewriteStatus, ...redirectStatuses].map((status) => z.literal(status)))
      .optional()
      .meta(says('301 when absent. 200 shows the file at `to` under the requested path.')),
    force: z.boolean().optional().meta(says('false: only where the release has no file. Defaults to true.')),
  })
  .superRefine(({ from, to, status }, ctx) => {
    if (status === rewriteStatus && !to.startsWith('/'))
      ctx.addIssue({ code: 'custom', path: ['to'], message: 'must be a path of the site with status 200' });
    const known = [...namesIn(from), ...(from.endsWith('/*') ? ['splat'] : [])];
    const unknown = namesIn(to.replace(/^https?:\/\/[^/]*/, '')).find((name) => !known.includes(name));
    if (unknown !== undefined)
      ctx.addIssue({ code: 'custom', path: ['to'], message: `uses :${unknown}, which is not in from` });
    if (status !== rewriteStatus && leadsToItself(from, to))
      ctx.addIssue({
        code: 'custom',
        path: ['to'],
        message: 'leads to a path that from matches, so it would loop',
      });
  });

export const SiteConfig = z
  .strictObject({
    index: folderPath.optional().meta(says('The index file of a folder; defaults to index.html.')),
    spa: z
      .boolean()
      .optional()
      .meta(says('Serve the root index for paths without a file; defaults to false.')),
    not_found: folderPath
      .optional()
      .meta(says('The page for paths that are not found; defaults to 404.html.')),
    clean_urls: z.boolean().optional().meta(says('Serve about.html for `/about`; defaults to true.')),
    trailing_slash: z
      .boolean()
      .optional()
      .meta(says('Whether URLs of pages end with a slash; follows the files when absent.')),
    headers: z
      .array(headerRule)
      .max(siteHeaderRulesMax)
      .optional()
      .meta(says('Response headers by path; all matching rules apply, later ones win.')),
    redirects: z
      .array(redirectRule)
      .max(siteRedirectsMax)
      .optional()
      .meta(
        says(
          'Redirects and rewrites by path, applied before files unless `force` is false; the first match wins.',
        ),
      ),
  })
  .superRefine((config, ctx) => {
    const at = loopAt((config.redirects ?? []).filter(({ status }) => status !== rewriteStatus));
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

/** A redirect whose target matches its own rule would loop. */
function leadsToItself(from: string, to: string): boolean {
  if (!to.startsWith('/')) return false;
  const parts = from.split('/');
  const target = to.replace(/[?#].*$/, '').split('/');
  const isOpen = parts.at(-1) === '*';
  if (isOpen) parts.pop();
  if (isOpen ? target.length <= parts.length : target.length !== parts.length) return false;
  return parts.every((part, at) => {
    const there = target[at] ?? '';
    if (there.includes(':splat')) return false;
    return /^:[A-Za-z][A-Za-z0-9_]*$/.test(part) ? there !== '' : part === there;
  });
}

/** Finds loops of rules without variable segments only. Null: none. */
function loopAt(redirects: readonly { from: string; to: string }[]): number | null {
  const plain = new Map<string, string>();
  for (const { from, to } of redirects) {
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

export function siteConfigJsonSchema({ baseUrl }: { baseUrl: string }): Record<string, unknown> {
  return draft7Schema(SiteConfig, {
    $id: `${baseUrl}${siteConfigSchemaPath}`,
    title: 'Site configuration',
    description: 'How the files of a site are served; `site` in svc.yaml holds the same.',
  });
}

/** Draft 7, which all editors support. */
export function draft7Schema(shape: z.ZodType, head: { $id: string; title: string; description: string }) {
  const { $schema, ...rest } = z.toJSONSchema(shape, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return { $schema, ...head, ...rest };
}
