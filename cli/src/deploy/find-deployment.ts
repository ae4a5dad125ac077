import { listDeployments } from '@svc/contract/deployments.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { rejectionError } from '../session/problems.ts';

const newestMax = 100;

/** The id for `latest` or a number, which people read in every list and message. Anything else is an id already. */
export async function findDeploymentId(
  ctx: Ctx,
  { tenantID, app, deployment: ref }: { tenantID: string; app: string; deployment: string },
): Promise<string> {
  const seq = /^#?(\d{1,9})$/.exec(ref)?.[1];
  if (ref !== 'latest' && seq === undefined) return ref;
  const client = await ctx.client();
  const query = { per_page: seq === undefined ? 1 : newestMax };
  const { items } = await client.call(listDeployments, { params: { tenantID, app }, query });
  const found = seq === undefined ? items[0] : items.find((each) => each.seq === Number(seq));
  if (found) return found.id;
  const of = `--app ${sanitize(app)}`;
  if (items.length === 0)
    throw rejectionError('not_found', {
      detail: `${sanitize(app)} has never been deployed.`,
      next: `svc deploy ${of} --execute`,
    });
  throw rejectionError('not_found', {
    detail: `${sanitize(app)} has no deployment #${seq} among its newest ${newestMax}.`,
    next: `svc deployments list ${of}`,
  });
}
