import { escapeLiteral as literal } from 'pg';
import { refusalState } from '../../core/db.ts';
import type { Statement } from './ddl.ts';

const isCitus = `exists (select from pg_extension where extname = 'citus')`;

/**
 * Citus runs the triggers of a table on its worker. There, a trigger sees neither the rows of its statement as a table nor the
 * schema `svc_data`, and without a setting of the operator's there are none.
 */
export const refuseOnCitusSql = (what: string): Statement => ({
  text: refusal(isCitus, `${what} cannot be used with tables on Citus.`),
});

export const requireTriggersSql = (what: string): Statement => ({
  text: refusal(
    `${isCitus} and current_setting('citus.enable_unsafe_triggers', true) is distinct from 'on'`,
    `${what} needs the setting citus.enable_unsafe_triggers on all nodes of Citus. Ask the operator.`,
  ),
});

const refusal = (condition: string, message: string) =>
  `do $$ begin if ${condition} then raise exception using errcode = ${literal(refusalState)}, message = ${literal(message)}; end if; end $$`;
