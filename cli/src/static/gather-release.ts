import type { SiteConfig } from '@svc/contract/site-config.shapes.ts';
import type { z } from 'zod';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';
import { checkSiteFiles } from './check-site-files.ts';
import { type HashedFile, hashSite } from './hash-site.ts';
import { configFileNames, releaseConfig } from './release-config.ts';
import { siteFolder } from './site-folder.ts';
import { walkSite } from './walk-site.ts';

export interface GatheredRelease {
  files: HashedFile[];
  config: z.output<typeof SiteConfig>;
}

/** What a folder makes a release of. All that can be refused without a server is refused here. */
export async function gatherRelease(
  ctx: Ctx,
  { app, fromDir }: { app: string; fromDir: string | undefined },
): Promise<GatheredRelease> {
  const folder = await siteFolder(ctx, { app, fromDir });
  const config = await releaseConfig(ctx, folder, app);
  const { files, leftOut } = walkSite(folder.place, configFileNames);
  if (leftOut.length > 0) ctx.note(leftOutNote(leftOut));
  for (const { path } of files)
    if (path === '_headers' || path === '_redirects')
      ctx.note(
        `${path} is served as a file and not read; headers and redirects stand under site in svc.yaml.`,
      );
  checkSiteFiles(folder.shown, files);
  return { files: await hashSite(ctx, files), config };
}

const leftOutShownMax = 10;

function leftOutNote(leftOut: readonly string[]): string {
  const more = leftOut.length - leftOutShownMax;
  const shown = leftOut.slice(0, leftOutShownMax).map(plain).join(', ');
  return `Left out: ${shown}${more > 0 ? ` and ${more} more` : ''}.`;
}
