import { lstatSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { getApp } from '@svc/contract/apps.ts';
import { issueText } from '@svc/contract/issue-text.ts';
import { isObject } from '@svc/contract/json.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import { type ManifestKeys, manifestKeys, manifestPathPattern } from '@svc/contract/manifest.ts';
import type { ManifestDocument } from '@svc/contract/manifest-document.ts';
import type { ManifestFault } from '@svc/contract/manifest-faults.ts';
import { SiteConfig } from '@svc/contract/site-config.shapes.ts';
import { retiredSiteKeys, siteConfigBytesMax } from '@svc/contract/site-config.ts';
import { parse } from 'yaml';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';
import { fileUnreadableError, readFileText } from '../inputs/files.ts';
import { findManifest } from '../manifest/defaults.ts';
import { manifestError, parseManifestDocument, readManifestDocument } from '../manifest/document.ts';
import { AdvisedProblemError, rejectionError } from '../session/problems.ts';
import { resolveTenant } from '../session/tenant.ts';
import { retiredNote } from './flags.ts';

interface ParsedSiteConfig {
  config: z.output<typeof SiteConfig>;
  retired: string[];
  slug?: string;
}

export type SiteForm = 'manifest' | 'either';

export function parseSiteConfig(
  text: string,
  shown: string,
  { form: expectedForm }: { form: SiteForm },
): ParsedSiteConfig {
  try {
    const isWhole = expectedForm === 'manifest' || looksWhole(text);
    const keys = isWhole ? wholeKeys : siteKeys;
    const form = { keys, bytesMax: siteConfigBytesMax, unknown: 'report' } as const;
    const document = parseManifestDocument(text, shown, form);
    return checkSiteConfig(document, shown, isWhole ? ['site'] : []);
  } catch (cause) {
    if (!(cause instanceof AdvisedProblemError)) throw cause;
    const title = 'Invalid site configuration';
    throw new AdvisedProblemError({ ...cause.problem, title }, `Fix ${shown}.`);
  }
}

const retiredKeys = Object.fromEntries(retiredSiteKeys.map((key) => [key, null]));
const siteKeys: ManifestKeys = { ...manifestKeys.site, ...retiredKeys };
const wholeKeys: ManifestKeys = { ...manifestKeys, site: siteKeys };

/** Keys of a site and of `svc.yaml` do not overlap. */
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
  const config: unknown = above.length === 0 ? data : (data.site ?? {});
  const entries = isObject(config) ? Object.entries(config) : [];
  const retired = entries.map(([key]) => key).filter((key) => Object.hasOwn(retiredKeys, key));
  const current = isObject(config)
    ? Object.fromEntries(entries.filter(([key]) => !retired.includes(key)))
    : config;
  const result = SiteConfig.safeParse(current, { error: issueText });
  const slug: unknown = Reflect.get(Object(data.app), 'slug');
  if (result.success && unknown.length === 0)
    return { config: result.data, retired, ...(typeof slug === 'string' && { slug }) };
  const found = result.error?.issues.flatMap((issue) => issueFaults(issue, above, faultAt)) ?? [];
  // For a key in both lists, keep the fault that may have a suggestion.
  const reported = new Set(unknown.map(({ field }) => field));
  throw manifestError(shown, [...unknown, ...found.filter(({ field }) => !reported.has(field))]);
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
  const detail = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  return [faultAt(keys, issue.code, detail)];
}

export const configFileNames: ReadonlySet<string> = new Set(['svc.yaml', 'svc.yml', 'svc.json']);

export async function releaseConfig(
  ctx: Ctx,
  { absolutePath, manifest }: SiteFolder,
  app: string,
): Promise<z.output<typeof SiteConfig>> {
  const [own, another] = [...configFileNames].filter((name) => isPlainFile(join(absolutePath, name)));
  if (own !== undefined && another !== undefined)
    throw usageError(`${absolutePath} contains both ${own} and ${another}.`, 'Keep one of them.');
  const path = own === undefined ? manifest : join(absolutePath, own);
  if (path === null) return {};
  const shown = displayPath(ctx, path);
  const text = await readFileText(path, { bytesMax: siteConfigBytesMax, shown });
  const form = path.endsWith('.json') ? 'either' : 'manifest';
  const { config, retired, slug } = parseSiteConfig(text, shown, { form });
  if (slug !== undefined && !(await isAppSlug(ctx, app, slug))) {
    if (Object.keys(config).length > 0)
      ctx.note(`${shown} belongs to app ${sanitize(slug)}; its site configuration is ignored.`);
    return {};
  }
  for (const key of retired) ctx.note(retiredNote(key));
  if (Object.keys(config).length > 0) ctx.note(`Using the site configuration of ${shown}.`);
  return config;
}

/** Links are rejected, as in the rest of the folder. */
export function isPlainFile(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined || entry.isFile()) return entry !== undefined;
  throw rejectionError('invalid_path', {
    detail: `${path} is not a regular file.`,
    next: 'Replace it with a regular file, or remove it.',
  });
}

interface SiteFolder {
  absolutePath: string;
  shown: string;
  manifest: string | null;
}

export async function resolveSiteFolder(
  ctx: Ctx,
  { app, fromDir }: { app: string; fromDir: string | undefined },
): Promise<SiteFolder> {
  const { cwd, env } = ctx.io;
  const above = (folder: string) => findManifest({ cwd: folder, home: env.HOME || env.USERPROFILE });
  const shown = fromDir ?? (await staticDir(ctx, app, await above(cwd())));
  const absolutePath = resolve(cwd(), shown);
  const entry = await stat(absolutePath).catch((cause: unknown) => {
    throw fileUnreadableError(shown, cause);
  });
  if (!entry.isDirectory()) throw usageError(`${shown} is not a folder.`, 'Pass the folder with the site.');
  return { absolutePath, shown, manifest: (await above(absolutePath)) ?? (await above(cwd())) };
}

async function staticDir(ctx: Ctx, app: string, manifest: string | null): Promise<string> {
  if (manifest === null)
    throw usageError('--from-dir is required outside of a folder with svc.yaml that has static.dir.');
  const shown = displayPath(ctx, manifest);
  const { data, faultAt } = await readManifestDocument(manifest, shown);
  const dir: unknown = Reflect.get(Object(data.static), 'dir');
  const slug: unknown = Reflect.get(Object(data.app), 'slug');
  if (typeof slug === 'string' && !(await isAppSlug(ctx, app, slug)))
    throw usageError(`--from-dir is required: ${shown} belongs to app ${slug}.`);
  if (dir === undefined) throw usageError(`--from-dir is required: ${shown} has no static.dir.`);
  if (typeof dir !== 'string' || !manifestPathPattern.test(dir)) {
    const detail = 'must be a path inside the folder: relative, with /, without ..';
    throw manifestError(shown, [faultAt(['static', 'dir'], 'invalid_format', detail)]);
  }
  return relative(ctx.io.cwd(), join(dirname(manifest), dir)) || '.';
}

function displayPath(ctx: Ctx, path: string): string {
  const below = relative(ctx.io.cwd(), path);
  return below.startsWith('..') ? path : below;
}

async function isAppSlug(ctx: Ctx, app: string, slug: string): Promise<boolean> {
  if (!uuidPattern.test(app)) return slug === app;
  const { isLimited, credential } = await ctx.session();
  if (isLimited) throw usageError(`With ${credential} the app must be named by its slug.`);
  const params = { tenantID: await resolveTenant(ctx), app };
  return (await (await ctx.client()).call(getApp, { params })).slug === slug;
}
