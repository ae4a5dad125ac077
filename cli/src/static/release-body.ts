import type { Input } from '@svc/contract/endpoint.ts';
import type { createRelease as shape } from '@svc/contract/static-sites.shapes.ts';
import { createRelease } from '@svc/contract/static-sites.ts';
import type { Ctx } from '../context.ts';
import { parseDocumentText } from '../inputs/document.ts';
import { readInputText } from '../inputs/input-text.ts';

export interface BodyFlagValues {
  'body-json': string | undefined;
  'from-file': string | undefined;
}

/** What it holds is checked by the server, which knows all the rules and names the field. */
export async function releaseBody(ctx: Ctx, flags: BodyFlagValues): Promise<Input<typeof shape>['body']> {
  const { text, shown } = await bodyText(ctx, flags, createRelease.bodyBytesMax ?? 0);
  return (await parseDocumentText(text, shown)) as Input<typeof shape>['body'];
}

/** The text that was given, and how messages name it. */
export async function bodyText(
  ctx: Ctx,
  flags: BodyFlagValues,
  bytesMax: number,
): Promise<{ text: string; shown: string }> {
  const { 'body-json': json, 'from-file': file = '-' } = flags;
  if (json !== undefined) return { text: json, shown: '--body-json' };
  return { text: await readInputText(ctx, file, { bytesMax }), shown: file };
}
