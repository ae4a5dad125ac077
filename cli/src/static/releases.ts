import type { Answer } from '@svc/contract/endpoint.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import type { getSite as shape } from '@svc/contract/static-sites.shapes.ts';
import { getSite, listReleases } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { rejectionError } from '../session/problems.ts';

export async function findReleaseId(
  ctx: Ctx,
  params: { tenantID: string; app: string },
  number: number,
): Promise<string> {
  const client = await ctx.client();
  for (let page = 1; ; page += 1) {
    const query = { page, per_page: perPageMax };
    const { items, total } = await client.call(listReleases, { params, query });
    const found = items.find((release) => release.number === number);
    if (found !== undefined) return found.id;
    // Sorted by number, newest first.
    const isPast = (items.at(-1)?.number ?? 0) < number;
    if (isPast || page * perPageMax >= total) throw unknownReleaseError(number);
  }
}

function unknownReleaseError(number: number): Error {
  return rejectionError('not_found', {
    detail: `There is no release ${number}.`,
    next: 'svc apps static releases list --app <app> shows the releases.',
  });
}

interface PromotionInput {
  params: { tenantID: string; app: string; release: string };
  body?: { digest?: string | undefined } | undefined;
}

export async function printPromotionNextStep(
  ctx: Ctx,
  result: Result,
  { params }: Pick<PromotionInput, 'params'>,
): Promise<Result> {
  if (ctx.mutation.mode === 'preview') return result;
  const staged = await findStaged(ctx, params);
  if (staged === null) return result;
  const { number, digest } = staged.release;
  const line = `svc apps static releases promote-approve --release-id ${number} --digest ${sanitize(digest)} --app ${sanitize(params.app)} --execute`;
  ctx.note(
    `Next, a tenant admin reviews ${sanitize(staged.url)} and runs promote-reject, or\n` + `  ${line}`,
  );
  return result;
}

export async function printPromotionDetails(
  ctx: Ctx,
  result: Result,
  { params, body }: PromotionInput,
): Promise<Result> {
  if (ctx.mutation.mode === 'execute') return result;
  const staged = await findStaged(ctx, params);
  if (staged === null) return result;
  const { number, config, digest } = staged.release;
  ctx.note(`Release ${number} is staged at ${sanitize(staged.url)}`);
  ctx.note(`Its configuration is ${sanitize(JSON.stringify(config))}`);
  if (body?.digest === undefined) ctx.note(`To approve exactly this, add --digest ${sanitize(digest)}`);
  return result;
}

type Staged = { url: string; release: NonNullable<Answer<typeof shape>['staged_release']> };

async function findStaged(
  ctx: Ctx,
  { release, ...params }: PromotionInput['params'],
): Promise<Staged | null> {
  if (ctx.globals.format !== 'table') return null;
  const client = await ctx.client();
  const site = await client.call(getSite, { params }).catch(() => null);
  const { staging_url: url = null, staged_release: staged = null } = site ?? {};
  return url !== null && staged?.id === release ? { url, release: staged } : null;
}
