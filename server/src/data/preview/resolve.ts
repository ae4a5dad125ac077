import { describePresets } from '../../access/presets/presets.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
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
import type { Tried } from './tried-policy.ts';

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

/** What the decision of real requests gives this person, with the facts that explain it. */
export interface Resolved {
  value: TableAccess | null;
  /** Null if there is no such table. */
  catalogue: TableCatalogue | null;
  rowDb: AppRows | null;
  reason: Reason | null;
  /** Rows answer `policy_unresolvable`, also to those who would see nothing else of the table. */
  isUnresolvable?: boolean;
  /** The names of presets by the ids of grants. */
  presets: ReadonlyMap<string, string>;
}

export interface Subject {
  tenant: TenantAccess;
  caller: Caller;
  person: Person;
  /** Whether the reader of the answer may know which tables there are. */
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
  const rowDb = deps.rowDb.of(app.id);
  const none = { rowDb, presets: new Map<string, string>() };
  try {
    const decision = await decideTableAccess(deps, tenant, caller, { app: app.id, table });
    if (!decision)
      return {
        ...none,
        value: null,
        catalogue: null,
        reason: { reason: `${app.slug} has no table ${table}.`, next: 'Check the name of the table.' },
      };
    const { value, catalogue } = decision;
    return { ...none, value, catalogue, reason: tableReason(decision, person) };
  } catch (error) {
    return {
      ...none,
      value: null,
      catalogue: null,
      reason: unresolvableReason(error, person, tried),
      isUnresolvable: true,
    };
  }
}

function unresolvableReason(error: unknown, { isSelf, email }: Person, tried: Tried | undefined): Reason {
  if (!(error instanceof Failure) || error.code !== 'policy_unresolvable') throw error;
  const cause = error.cause instanceof Failure && (!isSelf || tried) ? ` ${error.cause.detail}` : '';
  const detail = error.detail ?? error.message;
  if (tried && detail.startsWith(`The policy “${tried.row.name}” `))
    return {
      reason: `The policy “${tried.row.name}” does not fit the table.${cause}`,
      next: 'Correct the policy before you save it.',
    };
  if (isSelf) return { reason: `${detail}${cause}`, next: 'Tell an admin the name of the policy.' };
  const [, policy = ''] = /^The policy “(.*)” does not fit/.exec(detail) ?? [];
  return {
    reason: `${email} cannot read the table, because the policy “${policy}” does not fit it any more.${cause}`,
    next: `Correct the policy with: svc policies update ${shellWord(policy)} – or disable it with --enabled=false.`,
  };
}

const shellWord = (text: string) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
