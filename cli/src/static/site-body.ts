import type { Input } from '@svc/contract/endpoint.ts';
import { siteConfigBytesMax } from '@svc/contract/site-config.ts';
import type { setSite } from '@svc/contract/static-sites.shapes.ts';
import type { Ctx } from '../context.ts';
import { inputName } from '../inputs/input-text.ts';
import { parseSiteConfig } from './parse-site-config.ts';
import { type BodyFlagValues, bodyText } from './release-body.ts';
import { retiredNote } from './retired-note.ts';

/** Checked here already, so that a fault is told with its place in the file. */
export async function siteBody(ctx: Ctx, flags: BodyFlagValues): Promise<Input<typeof setSite>['body']> {
  const { text, shown } = await bodyText(ctx, flags, siteConfigBytesMax);
  const { config, retired } = parseSiteConfig(text, inputName(shown), { form: 'either' });
  for (const key of retired) ctx.note(retiredNote(key));
  return config;
}
