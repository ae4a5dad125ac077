import type { Preview } from '@svc/contract/plan.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { carryOut } from '../mutation.ts';
import type { RowAnswer, RowCall, RowsClient } from '../rows-client.ts';

/** Previews by the API's own dry run, or does it. */
export function changeRow(
  ctx: Ctx,
  rows: RowsClient,
  call: RowCall,
  result: (answer: RowAnswer) => Result,
): Promise<Result> {
  const { query = [], headers = {} } = call;
  return carryOut(ctx, {
    preview: async () =>
      (await rows.call({ ...call, query: [...query, ['dry_run', 'true']] })).body as Preview,
    execute: async (plan) => {
      const once = call.method === 'POST' && { 'idempotency-key': crypto.randomUUID() };
      const ifPlan = plan !== undefined && { 'if-plan': plan };
      return result(await rows.call({ ...call, headers: { ...headers, ...once, ...ifPlan } }));
    },
  });
}
