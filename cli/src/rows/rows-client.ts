import { connectorTablePath, isRowSegment, tablePath } from '@svc/contract/row-path.ts';
import { noteHeader } from '@svc/contract/rows.ts';
import { createRowsClient, type RowsClient as TableClient } from '@svc/sdk/rows.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { sanitize } from '../framework/text.ts';

export type { QueryPair, RowAnswer, RowCall } from '@svc/sdk/rows.ts';

export interface RowsClient extends TableClient {
  ref: TableRef;
}

export interface TableRef {
  baseUrl: string;
  tenant: string;
  app: string;
  table: string;
}

export async function openRows(
  ctx: Ctx,
  { app = '', connector, table }: { app?: string | undefined; connector?: string | undefined; table: string },
): Promise<RowsClient> {
  const session = await ctx.session();
  const { resolveTenant } = await import('../session/tenant.ts');
  const tenant = await resolveTenant(ctx);
  const ref: TableRef = { baseUrl: session.baseUrl, tenant, app: connector ?? app, table };
  if (connector !== undefined && !/^[^/]+\/[^/]/.test(table))
    throw usageError(
      'A table of a connector is schema/table.',
      `svc connectors tables ${connector} lists them.`,
    );
  const client = createRowsClient({
    url:
      ref.baseUrl +
      (connector === undefined
        ? tablePath(tenant, app, table)
        : connectorTablePath(tenant, connector, table)),
    fetch: session.send,
    fetchStream: session.open,
  });
  const noted = new Set<string>();
  const showNote = <T extends { headers: Headers }>(answer: T): T => {
    const note = answer.headers.get(noteHeader);
    // Every page has it.
    if (note !== null && !noted.has(note)) ctx.note(sanitize(note));
    if (note !== null) noted.add(note);
    return answer;
  };
  return {
    ref,
    call: async (call) => {
      if (typeof call.of === 'object' && !isRowSegment(call.of.id))
        throw usageError(`A URL cannot end with the id \`${call.of.id}\`.`);
      return showNote(await client.call(call));
    },
    open: async (call) => showNote(await client.open(call)),
  };
}
