import type { Logger } from 'pino';
import type { Caller, MutationCtx } from './context.ts';
import type { Db } from './db.ts';
import { type RowsPlace, runMutation } from './mutation.ts';
import type { Outbox } from './outbox-rows.ts';

/** Changes that no request asks for: the operator's tool, the sweeps, the first start. Audited like all others. */
export interface OperatorParts {
  db: Db;
  outbox: Outbox;
  log: Logger;
  /** For what touches apps' tables. */
  rows?: RowsPlace;
}

export async function asOperator<T>(
  parts: OperatorParts,
  change: { name: string; auditTenantId: string; requestId?: string },
  verb: (ctx: MutationCtx) => Promise<T>,
): Promise<T> {
  let value: { is: T } | undefined;
  await runMutation(
    { ...parts, caller: operator, requestId: change.requestId ?? Bun.randomUUIDv7() },
    {
      mode: 'execute',
      operation: { id: change.name, irreversible: false },
      auditTenantId: change.auditTenantId,
      verb: async (ctx) => {
        value = { is: await verb(ctx) };
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  if (!value) throw new Error(`${change.name} ended without a value.`);
  return value.is;
}

const operator: Caller = {
  kind: 'operator',
  userId: 'operator',
  email: 'operator',
  name: 'operator',
  credentialId: '',
  expiresAt: new Date(8.64e15),
};
