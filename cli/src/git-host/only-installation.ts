import { listGitInstallations } from '@svc/contract/git-host.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { plain } from '../output.ts';

/** The one that is meant where there is no other. */
export async function onlyInstallation(ctx: Ctx, tenantID: string): Promise<number> {
  const input = { params: { tenantID }, query: {} };
  const { items } = await (await ctx.client()).call(listGitInstallations, input, { signal: ctx.signal });
  const [only, another] = items;
  if (only !== undefined && another === undefined) return only.id;
  const found = items.map(({ id, account }) => `${id} (${plain(account)})`).join(', ');
  throw usage(
    found === '' ? 'Your account reaches no installation.' : `There are several installations: ${found}.`,
    found === '' ? 'Install the app of the git host first.' : 'Say which with --installation-id.',
  );
}
