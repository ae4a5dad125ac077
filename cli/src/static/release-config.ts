import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { SiteConfig } from '@svc/contract/site-config.shapes.ts';
import { siteConfigBytesMax } from '@svc/contract/site-config.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { plain } from '../output.ts';
import { readFileText } from '../read-file-text.ts';
import { isSlugOf } from './is-slug-of.ts';
import { parseSiteConfig } from './parse-site-config.ts';
import { refused } from './refused.ts';
import { retiredNote } from './retired-note.ts';
import { type SiteFolder, shownFrom } from './site-folder.ts';

/** At the top of the folder, these say how the release is served, and are no part of it. */
export const configFileNames: ReadonlySet<string> = new Set(['svc.yaml', 'svc.yml', 'svc.json']);

/** What the release itself says: a file in its folder, otherwise `site` of the project's `svc.yaml`. */
export async function releaseConfig(
  ctx: Ctx,
  { place, manifest }: SiteFolder,
  app: string,
): Promise<z.output<typeof SiteConfig>> {
  const [own, another] = [...configFileNames].filter((name) => isPlainFile(join(place, name)));
  if (own !== undefined && another !== undefined)
    throw usage(`${place} holds both ${own} and ${another}.`, 'Keep one of them.');
  const path = own === undefined ? manifest : join(place, own);
  if (path === null) return {};
  const shown = shownFrom(ctx, path);
  const text = await readFileText(path, { bytesMax: siteConfigBytesMax, shown });
  const form = path.endsWith('.json') ? 'either' : 'manifest';
  const { config, retired, slug } = parseSiteConfig(text, shown, { form });
  if (slug !== undefined && !(await isSlugOf(ctx, app, slug))) {
    if (Object.keys(config).length > 0)
      ctx.note(`${shown} is of the app ${plain(slug)}; how it is served is not taken from there.`);
    return {};
  }
  for (const key of retired) ctx.note(retiredNote(key));
  if (Object.keys(config).length > 0) ctx.note(`${shown} says how it is served.`);
  return config;
}

/** As with the rest of the folder, what is no file is refused rather than followed. */
function isPlainFile(path: string): boolean {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined || entry.isFile()) return entry !== undefined;
  throw refused('invalid_path', {
    detail: `${path} is no regular file.`,
    next: 'Put the file itself there, or remove it.',
  });
}
