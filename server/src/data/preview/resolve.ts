import { addPolicyToGrants } from '../../access/grants/grants.ts';
import { covers } from '../../access/grants/rules.ts';
import { tryPolicy } from '../../access/policies/policies.ts';
import { describePresets } from '../../access/presets/presets.ts';
import type { Caller, TenantAccess, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import type { AppRows, RowPool } from '../../drivers/row-database/row-pool.ts';
import {
  type ConnectorAccessDeps,
  type ConnectorRow,
  decideConnectorAccess,
  openSource,
} from '../connectors/access.ts';
import { decideTableAccess, type TableAccess } from '../rows/table-access.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { connectorReason, type Person, type Reason, tableReason } from './reasons.ts';
import { shellWord } from './words.ts';

type Tried = Awaited<ReturnType<typeof tryPolicy>>;

/** Reads as if the policy were stored; nothing of it remains. */
export async function withPolicy<T>(
  ctx: TenantCtx,
  { policy, userId }: { policy: Parameters<typeof tryPolicy>[1]; userId: string },
  work: (db: Db, tried: Tried) => Promise<T>,
): Promise<T> {
  const tx = await ctx.db.startTransaction().execute();
  try {
    const tried = await tryPolicy({ ...ctx, db: tx }, policy);
    const { row, isNew } = tried;
    if (isNew && !row.enforced) await addPolicyToGrants(tx, ctx.tenant.id, { userId, policyId: row.id });
    return await work(tx, tried);
  } finally {
    await tx.rollback().execute();
  }
}

export function triedWords(
  { row }: Tried,
  { target, person, value }: { target: Target; person: Person } & Pick<Resolved, 'value'>,
): string {
  const why = isUsed(row, value) ? null : (inapplicableWords(row, target) ?? unusedWords(row, person, value));
  const text = `The policy “${row.name}” is tried without being saved`;
  return why === null ? `${text}.` : `${text}, but does not apply here: ${why}.`;
}

const isUsed = ({ id }: Tried['row'], value: Resolved['value']) =>
  !!value?.access.alternatives.some(({ because }) => because.some((source) => source.id === id));

function inapplicableWords({ enabled, connector_id, resource_path }: Tried['row'], target: Target) {
  if (!enabled) return 'it is disabled';
  const schema = target.kind === 'connector' ? target.schema : target.app.slug;
  if (resource_path !== '' && !covers(resource_path, `${schema}/${target.table}`))
    return `it is for ${resource_path}`;
  const isShared = target.kind === 'app' || target.connector.kind === 'tables';
  const isOfOther = !isShared && connector_id !== null && connector_id !== target.connector.id;
  return isOfOther ? 'it is for another connector' : null;
}

function unusedWords({ enforced }: Tried['row'], { isSelf, email }: Person, value: Resolved['value']) {
  if (!value) return null;
  return enforced
    ? 'it is for another connector or other actions'
    : `no grant that opens the table to ${isSelf ? 'you' : email} names it, or it is for other actions`;
}

export interface PreviewDeps extends ConnectorAccessDeps {
  rowDb: RowPool;
}

export type Target =
  | { kind: 'connector'; connector: ConnectorRow; schema: string; table: string }
  | { kind: 'app'; app: { id: string; slug: string }; table: string };

export const targetLabel = (target: Target) =>
  target.kind === 'connector'
    ? `${target.connector.slug}/${target.schema}/${target.table}`
    : `${target.app.slug}/${target.table}`;

export interface Resolved {
  value: TableAccess | null;
  catalogue: TableCatalogue | null;
  rowDb: AppRows | null;
  reason: Reason | null;
  /** Rows answer `policy_unresolvable`, also to those who would see nothing else of the table. */
  isUnresolvable?: boolean;
  presets: ReadonlyMap<string, string>;
}

interface Subject {
  tenant: TenantAccess;
  caller: Caller;
  person: Person;
  knowsTables?: boolean;
  tried?: Tried;
}

export function resolveTarget(deps: PreviewDeps, target: Target, subject: Subject): Promise<Resolved> {
  return target.kind === 'connector'
    ? resolveConnector(deps, target, subject)
    : resolveApp(deps, target, subject);
}

async function resolveConnector(
  deps: PreviewDeps,
  target: Extract<Target, { kind: 'connector' }>,
  { tenant, caller, person, knowsTables = false, tried }: Subject,
): Promise<Resolved> {
  const { connector, schema, table } = target;
  const ref = { tenant: tenant.id, app: connector.slug, schema, table };
  const source = await openSource(deps, tenant, connector, ref);
  const catalogue = source?.catalogue ?? null;
  const rowDb = source ? (source.rowDb ?? deps.rowDb.of(source.app.id)) : null;
  const found = { catalogue, rowDb, presets: new Map<string, string>() };
  try {
    const decision = await decideConnectorAccess(deps, tenant, caller, ref);
    if (!decision) return { ...found, value: null, reason: null };
    const { grants, value } = decision;
    const terms = await describePresets(
      deps.db,
      tenant.id,
      grants.map(({ presetId }) => presetId),
    );
    const presets = new Map(
      grants.map(({ id, presetId }) => [id, terms.find((term) => term.id === presetId)?.name ?? presetId]),
    );
    const about = { tableExists: source !== null, knowsTables };
    const reason = await connectorReason(deps.db, tenant.id, decision, person, about);
    return { ...found, value, presets, reason };
  } catch (error) {
    return { ...found, value: null, reason: unresolvableReason(error, person, tried), isUnresolvable: true };
  }
}

async function resolveApp(
  deps: PreviewDeps,
  { app, table }: Extract<Target, { kind: 'app' }>,
  { tenant, caller, person, tried }: Subject,
): Promise<Resolved> {
  const none = {
    rowDb: deps.rowDb.of(app.id),
    presets: new Map<string, string>(),
    value: null,
    catalogue: null,
  };
  try {
    const decision = await decideTableAccess(deps, tenant, caller, { app: app.id, table });
    if (!decision)
      return {
        ...none,
        reason: { reason: `${app.slug} has no table ${table}.`, next: 'Check the name of the table.' },
      };
    const { value, catalogue } = decision;
    return { ...none, value, catalogue, reason: tableReason(decision, person) };
  } catch (error) {
    return { ...none, reason: unresolvableReason(error, person, tried), isUnresolvable: true };
  }
}

function unresolvableReason(error: unknown, { isSelf, email }: Person, tried: Tried | undefined): Reason {
  if (!(error instanceof Failure) || error.code !== 'policy_unresolvable') throw error;
  const cause = error.cause instanceof Failure && (!isSelf || tried) ? causeWords(error.cause) : '.';
  const detail = error.detail ?? error.message;
  if (tried && detail.startsWith(`The policy “${tried.row.name}” `))
    return {
      reason: `The policy “${tried.row.name}” does not fit the table${cause}`,
      next: 'Correct the policy before you save it.',
    };
  if (isSelf) return { reason: detail, next: 'Tell an admin the name of the policy.' };
  const [, policy = ''] = /^The policy “(.*)” does not fit/.exec(detail) ?? [];
  return {
    reason: `${email} cannot read the table, because the policy “${policy}” does not fit it any more${cause}`,
    next: `Look at it with: svc policies get ${shellWord(policy)}, then correct it, for example: svc policies update ${shellWord(policy)} --row-filter '<filter>' --execute. Disabling the policy also removes its limits.`,
  };
}

function causeWords({ code, detail = '', errors }: Failure): string {
  const column = code === 'unknown_column' && errors?.[0]?.column;
  if (column) return `: it uses the column “${column}”, which the table does not have.`;
  return `. ${detail.replaceAll(/`([^`]*)`/g, '“$1”')}`;
}
