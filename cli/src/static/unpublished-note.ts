import type { Answer } from '@svc/contract/endpoint.ts';
import type { unpublishSite } from '@svc/contract/static-sites.shapes.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';

type Site = Pick<Answer<typeof unpublishSite>, 'published' | 'active_release' | 'changed'>;

/** Of a site that shows nothing although it could: how to show it again. */
export function unpublishedNote(ctx: Ctx, { published, active_release, changed }: Site, app: string): void {
  if (published || active_release === null || ctx.globals.format !== 'table') return;
  const line = `svc apps static releases activate --release-id ${active_release.number} --app ${plain(app)}`;
  const before = changed === false ? 'It was already unpublished. ' : '';
  ctx.note(`${before}To show it again: ${line} --execute`);
}
