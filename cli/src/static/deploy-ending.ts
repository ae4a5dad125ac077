import { getApp } from '@svc/contract/apps.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';
import type { MovedRelease } from './deployed.ts';

/** How a deployment ended, and what is left to do until visitors see it; null: nothing. */
export interface DeployEnding extends Pick<Result, 'exit'> {
  note: string | null;
}

type Place = { tenantID: string; app: string };

export async function deployEnding(ctx: Ctx, params: Place, release: MovedRelease): Promise<DeployEnding> {
  const { number, pointer, url, changed } = release;
  const of = `--release-id ${number} --app ${plain(params.app)} --execute`;
  if (pointer === null) return nowhere(ctx, params, { number, of });
  const same = changed === false ? `Release ${number} is the same, and was ${pointer} already. ` : '';
  const next = pointer === 'staged' ? toReview(of) : url === null ? await unseen(ctx, params) : '';
  return { note: `${same}${next}`.trim() || null };
}

function toReview(of: string): string {
  return `Visitors see it once it was reviewed. Next: svc apps static releases promote-request ${of}`;
}

/** Either there is no address, or something else answers there. */
async function unseen(ctx: Ctx, params: Place): Promise<string> {
  const { url } = await (await ctx.client()).call(getApp, { params }, { signal: ctx.signal });
  const app = plain(params.app);
  if (url === null)
    return `The app has no host yet. Next: svc apps update ${app} --subdomain <name> --execute`;
  return (
    `What the app runs answers at ${plain(url)} in place of the site, so nobody sees this release. ` +
    'Next: for a site beside it make another app, svc apps create --deploy-method static'
  );
}

/** A newer one that is in its place is as it should be; otherwise a review is needed, and there is no place for it. */
async function nowhere(
  ctx: Ctx,
  params: Place,
  { number, of }: { number: number; of: string },
): Promise<DeployEnding> {
  const client = await ctx.client();
  const { active_release, staged_release } = await client.call(getSite, { params }, { signal: ctx.signal });
  const newer = [staged_release, active_release].find((other) => other !== null && other.number > number);
  if (newer) {
    const move = newer === staged_release ? 'stage' : 'activate';
    const stays = `Release ${newer.number} is newer, and stays in place.`;
    return { note: `${stays} To show this one nevertheless: svc apps static releases ${move} ${of}` };
  }
  const why =
    'It is shown nowhere: what visitors see beyond the owners is reviewed first, at the staging host.';
  const enable = `svc apps static site staging enable --app ${plain(params.app)} --execute`;
  return { note: `${why} Next: ${enable}, then svc apps static releases stage ${of}`, exit: 11 };
}
