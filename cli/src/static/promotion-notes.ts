import type { Answer } from '@svc/contract/endpoint.ts';
import type { getSite as shape } from '@svc/contract/static-sites.shapes.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';

interface Asked {
  params: { tenantID: string; app: string; release: string };
  body?: { digest?: string | undefined } | undefined;
}

/** Behind a request: who has to do what now, and where. */
export async function requestedNote(
  ctx: Ctx,
  made: Result,
  { params }: Pick<Asked, 'params'>,
): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return made;
  const staged = await stagedOf(ctx, params);
  if (staged === null) return made;
  const { number, digest } = staged.release;
  const line = `svc apps static releases promote-approve --release-id ${number} --digest ${plain(digest)}`;
  ctx.note(
    `Next, an admin of the tenant looks at ${plain(staged.url)} and runs promote-reject, or\n` +
      `  ${line} --app ${plain(params.app)} --execute`,
  );
  return made;
}

/** Before an approval: what there is to look at. */
export async function reviewNote(ctx: Ctx, made: Result, { params, body }: Asked): Promise<Result> {
  if (ctx.mutation.mode === 'execute') return made;
  const staged = await stagedOf(ctx, params);
  if (staged === null) return made;
  const { number, config, digest } = staged.release;
  ctx.note(`Release ${number} is staged at ${plain(staged.url)}`);
  ctx.note(`It is served with ${plain(JSON.stringify(config))}`);
  if (body?.digest === undefined) ctx.note(`To approve exactly this, add --digest ${plain(digest)}`);
  return made;
}

type Staged = { url: string; release: NonNullable<Answer<typeof shape>['staged_release']> };

/** Null where it is not what is staged, and where that can not be found out: the change itself does not depend on it. */
async function stagedOf(ctx: Ctx, { release, ...params }: Asked['params']): Promise<Staged | null> {
  if (ctx.globals.format !== 'table') return null;
  const client = await ctx.client();
  const site = await client.call(getSite, { params }, { signal: ctx.signal }).catch(() => null);
  const { staging_url: url = null, staged_release: staged = null } = site ?? {};
  return url !== null && staged?.id === release ? { url, release: staged } : null;
}
