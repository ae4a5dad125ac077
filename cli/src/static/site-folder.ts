import { stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { manifestPathPattern } from '@svc/contract/manifest.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { fileUnreadable } from '../file-chunks.ts';
import { findManifest } from '../find-manifest.ts';
import { readManifestDocument } from '../manifest-document.ts';
import { manifestError } from '../manifest-error.ts';
import { isSlugOf } from './is-slug-of.ts';

export interface SiteFolder {
  place: string;
  /** How messages name it. */
  shown: string;
  /** The `svc.yaml` of its project: above it, otherwise above where one stands. */
  manifest: string | null;
}

/** The folder to deploy: the one that is said, or `static.dir` of the project's `svc.yaml`. A link to it is followed. */
export async function siteFolder(
  ctx: Ctx,
  { app, fromDir }: { app: string; fromDir: string | undefined },
): Promise<SiteFolder> {
  const { cwd, env } = ctx.io;
  const above = (folder: string) => findManifest({ cwd: folder, home: env.HOME || env.USERPROFILE });
  const shown = fromDir ?? (await staticDir(ctx, app, await above(cwd())));
  const place = resolve(cwd(), shown);
  const entry = await stat(place).catch((cause: unknown) => {
    throw fileUnreadable(shown, cause);
  });
  if (!entry.isDirectory()) throw usage(`${shown} is no folder.`, 'Give the folder that holds the site.');
  return { place, shown, manifest: (await above(place)) ?? (await above(cwd())) };
}

async function staticDir(ctx: Ctx, app: string, manifest: string | null): Promise<string> {
  if (manifest === null)
    throw usage('--from-dir must be given, or run it in a folder with svc.yaml that has static.dir.');
  const shown = shownFrom(ctx, manifest);
  const { data, faultAt } = await readManifestDocument(manifest, shown);
  const dir: unknown = Reflect.get(Object(data.static), 'dir');
  const slug: unknown = Reflect.get(Object(data.app), 'slug');
  if (typeof slug === 'string' && !(await isSlugOf(ctx, app, slug)))
    throw usage(`--from-dir must be given: ${shown} is of the app ${slug}.`);
  if (dir === undefined) throw usage(`--from-dir must be given: ${shown} has no static.dir.`);
  if (typeof dir !== 'string' || !manifestPathPattern.test(dir)) {
    const detail = 'must be a path inside the folder: relative, with /, without ..';
    throw manifestError(shown, [faultAt(['static', 'dir'], 'invalid_format', detail)]);
  }
  return relative(ctx.io.cwd(), join(dirname(manifest), dir)) || '.';
}

/** As one would type it from where one stands. */
export function shownFrom(ctx: Ctx, path: string): string {
  const below = relative(ctx.io.cwd(), path);
  return below.startsWith('..') ? path : below;
}
