import { changeEnv } from '@svc/contract/deployments.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { mutate } from '../mutation.ts';
import { resolveTenant } from '../tenant.ts';
import { envView } from '../views/env.ts';
import { type EnvAsked, envWish } from './env-wish.ts';

export async function setEnv(ctx: Ctx, { app, ...asked }: EnvAsked & { app: string }): Promise<Result> {
  const set = await envWish(ctx, asked);
  if (Object.keys(set).length === 0) throw usage('There is no variable to set.');
  const params = { tenantID: await resolveTenant(ctx), app };
  return mutate(
    withoutValues(ctx, asked.pairs),
    changeEnv,
    { params, body: { set } },
    {
      view: envView,
      present: (answer) => {
        const isChanged = answer.changed !== false;
        ctx.note(isChanged ? 'They count from the next deployment on.' : 'They had these values already.');
        return answer;
      },
    },
  );
}

/** The line that a preview shows is looked at by others, too. */
function withoutValues(ctx: Ctx, pairs: readonly string[]): Ctx {
  const shown = new Map(pairs.map((pair) => [pair, `${pair.slice(0, pair.indexOf('='))}=…`]));
  const argv = ctx.mutation.argv.map((word) => shown.get(word) ?? word);
  return { ...ctx, mutation: { ...ctx.mutation, argv } };
}
