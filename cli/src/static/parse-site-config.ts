import { issueText } from '@svc/contract/issue-text.ts';
import { type ManifestKeys, manifestKeys } from '@svc/contract/manifest.ts';
import type { ManifestDocument } from '@svc/contract/manifest-document.ts';
import type { ManifestFault } from '@svc/contract/manifest-faults.ts';
import { SiteConfig } from '@svc/contract/site-config.shapes.ts';
import { retiredSiteKeys, siteConfigBytesMax } from '@svc/contract/site-config.ts';
import { parse } from 'yaml';
import type { z } from 'zod';
import { AdvisedProblem } from '../errors.ts';
import { parseManifestDocument } from '../manifest-document.ts';
import { manifestError } from '../manifest-error.ts';

export interface ParsedSiteConfig {
  config: z.output<typeof SiteConfig>;
  /** Keys that were given and are no longer of any effect. */
  retired: string[];
  /** Of the app that a whole `svc.yaml` is about, where it says so. */
  slug?: string;
}

/** `manifest`: a whole `svc.yaml`, of which `site` counts; `either`: that, or what would stand there by itself. */
export type SiteForm = 'manifest' | 'either';

/** A configuration out of YAML or JSON. Faults are `validation_failed` with file, line and column. */
export function parseSiteConfig(
  text: string,
  shown: string,
  { form: wanted }: { form: SiteForm },
): ParsedSiteConfig {
  try {
    const isWhole = wanted === 'manifest' || looksWhole(text);
    const keys = isWhole ? wholeKeys : siteKeys;
    const form = { keys, bytesMax: siteConfigBytesMax, unknown: 'told' } as const;
    const document = parseManifestDocument(text, shown, form);
    return checkSiteConfig(document, shown, isWhole ? ['site'] : []);
  } catch (cause) {
    if (!(cause instanceof AdvisedProblem)) throw cause;
    const title = 'The configuration of the site is not as it should be';
    throw new AdvisedProblem({ ...cause.problem, title }, `Correct ${shown}.`);
  }
}

const retiredKeys = Object.fromEntries(retiredSiteKeys.map((key) => [key, null]));
const siteKeys: ManifestKeys = { ...manifestKeys.site, ...retiredKeys };
const wholeKeys: ManifestKeys = { ...manifestKeys, site: siteKeys };

/** No key of a site is one of the keys around it. */
function looksWhole(text: string): boolean {
  try {
    const data: unknown = parse(text);
    return typeof data === 'object' && data !== null && Object.keys(data).some(isManifestKey);
  } catch {
    return false;
  }
}

function isManifestKey(key: string): boolean {
  return Object.hasOwn(manifestKeys, key);
}

function checkSiteConfig(
  { data, unknown, faultAt }: ManifestDocument,
  shown: string,
  above: readonly string[],
): ParsedSiteConfig {
  const given: unknown = above.length === 0 ? data : (data.site ?? {});
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const entries = isObject ? Object.entries(given) : [];
  const retired = entries.map(([key]) => key).filter((key) => Object.hasOwn(retiredKeys, key));
  const kept = isObject ? Object.fromEntries(entries.filter(([key]) => !retired.includes(key))) : given;
  const result = SiteConfig.safeParse(kept, { error: issueText });
  const slug: unknown = Reflect.get(Object(data.app), 'slug');
  if (result.success && unknown.length === 0)
    return { config: result.data, retired, ...(typeof slug === 'string' && { slug }) };
  const found = result.error?.issues.flatMap((issue) => issueFaults(issue, above, faultAt)) ?? [];
  // Of a key that both find, the one that may have a suggestion is told.
  const told = new Set(unknown.map(({ field }) => field));
  throw manifestError(shown, [...unknown, ...found.filter(({ field }) => !told.has(field))]);
}

function issueFaults(
  issue: z.core.$ZodIssue,
  above: readonly string[],
  faultAt: ManifestDocument['faultAt'],
): ManifestFault[] {
  const keys = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) =>
      faultAt([...keys, key], 'unknown_key', `unknown key ${JSON.stringify(key)}`),
    );
  const told = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return [faultAt(keys, issue.code, told)];
}
