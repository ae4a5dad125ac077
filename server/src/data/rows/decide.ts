import type { Condition } from '@svc/contract/filter.ts';
import {
  parseAlternative,
  type RuleAction,
  type Alternative as RuleAlternative,
  rowChanges,
  type TableRules,
} from '@svc/contract/table-rules.ts';
import type { AppOfTenant } from '../../apps/record/find-app.ts';
import { ownsApp, type TenantAccess, type TokenScope } from '../../core/context.ts';
import { Failure } from '../../core/problem.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import {
  allOf,
  always,
  anyOf,
  equals,
  isAlways,
  isNever,
  type Me,
  never,
  type PlannedCondition,
  planCondition,
  withCallerValues,
} from '../tables/conditions.ts';
import type { TableGrantEntry } from '../tables/grants.ts';
import {
  type Access,
  type Alternative,
  actionsOf,
  type ColumnPart,
  combine,
  type FittingPolicy,
  limitUpdates,
  narrow,
  rowActions,
} from './access.ts';
import { requireCatalogueColumn } from './row-table.ts';

export interface AccessFacts {
  me: Me;
  role: TenantAccess['role'];
  through: { appId: string; visible: boolean } | null;
  isApp: boolean;
  scope: TokenScope | null;
  ownApp: OwnApp | null;
  app: Pick<AppOfTenant, 'id' | 'relation' | 'record' | 'runtime'>;
  catalogue: TableCatalogue;
  rules: TableRules;
  tableGrants: readonly TableGrantEntry[];
  ownedApps: ReadonlySet<string>;
  groups: ReadonlySet<string>;
  grants: readonly GrantFacts[];
  enforced: readonly FittingPolicy[];
}

export interface OwnApp {
  id: string;
  canWrite: boolean;
}

export interface GrantFacts {
  id: string;
  text: string;
  actions: readonly string[];
  policies: readonly FittingPolicy[];
}

export function decideAccess(facts: AccessFacts): Access | null {
  if (facts.through && !facts.through.visible) return null;
  const { catalogue, enforced } = facts;
  const found = [
    ...ownAlternatives(facts),
    ...facts.grants.map((grant) => grantAlternative(catalogue, grant)).filter(hasParts),
  ];
  const narrowed = found.map((alternative) => narrow(alternative, enforced, catalogue));
  return combine(limitToScope(facts, limitUpdates(narrowed, catalogue)));
}

function ownAlternatives(facts: AccessFacts): Alternative[] {
  const { through, app, isApp, me } = facts;
  if (isApp || through?.appId === app.id) return [ruleAlternative(facts)].filter(hasActions);
  if (through)
    return tableGrantAlternatives(
      facts,
      (grant) => grant.principalType === 'app' && grant.principalId === through.appId,
    );
  if (ownsApp(app.relation)) return [ownerAlternative];
  return tableGrantAlternatives(facts, ({ principalType, principalId }) => {
    if (principalType === 'user') return principalId === me.id;
    if (principalType === 'app') return facts.ownedApps.has(principalId);
    if (principalType === 'group') return facts.groups.has(principalId);
    return principalId === 'tenant_member' || principalId === facts.role;
  });
}

/** A grant whose preset has no action on rows does not open the table. */
export const hasParts = ({ reads, changes }: Alternative) => Object.keys({ ...reads, ...changes }).length > 0;
const hasActions = (alternative: Alternative) => actionsOf(alternative).length > 0;

const everything = { where: always, columns: null, writable: null };

/** Owners act on all rows in the console and on the command line. */
const ownerAlternative: Alternative = {
  because: [{ kind: 'owner', id: '', text: 'an owner of the app' }],
  reads: { read: everything, export: everything },
  changes: { insert: everything, update: everything, delete: everything },
  insertsOwn: false,
};

export const ownersAccess: Access = {
  actions: new Set(rowActions),
  alternatives: [ownerAlternative],
  insertsOwn: false,
};

function ownRows({ catalogue: { owner }, me }: Pick<AccessFacts, 'catalogue' | 'me'>): PlannedCondition {
  return owner ? equals(owner, me.id) : never;
}

function tableGrantAlternatives(
  facts: AccessFacts,
  applies: (grant: TableGrantEntry) => boolean,
): Alternative[] {
  const { owner } = facts.catalogue;
  const where = owner ? ownRows(facts) : always;
  return facts.tableGrants.filter(applies).map((grant) => {
    const canRead = grant.actions.includes('read');
    const canWrite = grant.actions.includes('write');
    const [read, change] = [
      { where, columns: null },
      { where, writable: null },
    ];
    return {
      because: [{ kind: 'table_grant', id: grant.id, text: `a table grant to ${grant.principalType}` }],
      reads: canRead ? { read, export: read } : {},
      changes: canWrite ? { insert: change, update: change, delete: change } : {},
      insertsOwn: owner !== null,
    };
  });
}

export function grantAlternative(
  catalogue: TableCatalogue,
  { id, text, actions, policies }: GrantFacts,
): Alternative {
  const may = (action: string) => actions.includes(action);
  const alternative: Alternative = {
    because: [{ kind: 'grant', id, text }],
    reads: { ...(may('read') && { read: everything }), ...(may('export') && { export: everything }) },
    changes: Object.fromEntries(rowChanges.filter(may).map((action) => [action, everything])),
    insertsOwn: false,
  };
  return narrow(alternative, policies, catalogue);
}

function ruleAlternative(facts: AccessFacts): Alternative {
  const { rules, catalogue } = facts;
  const compile = (alternatives: readonly RuleAlternative[]) => compileRule(facts, alternatives);
  const limits = Object.entries(rules.columns);
  const readLimits = new Map(
    limits.flatMap(([name, { read }]) => (read ? [[name, compile(read)] as const] : [])),
  );
  const writeLimits = new Map(
    limits.flatMap(([name, { read, write }]) => {
      const list = write ?? read;
      return list ? [[name, compile(list)] as const] : [];
    }),
  );
  const columns = limitByColumn(catalogue, readLimits, (when): ColumnPart => ({ when, mask: null }));
  const writable = limitByColumn(catalogue, writeLimits, (when) => when);
  const read = { where: compile(rules.read), columns };
  const change = (action: RuleAction) => ({ where: compile(rules[action]), writable });
  const text = (['read', ...rowChanges] as const).map((action) => `${action}: ${ruleText(rules[action])}`);
  return {
    because: [{ kind: 'rule', id: catalogue.id, text: text.join('; ') }],
    reads: { read, export: read },
    changes: { insert: change('insert'), update: change('update'), delete: change('delete') },
    insertsOwn: rules.insert.every((alternative) => applies(facts, alternative) !== 'all'),
  };
}

export const ruleText = (alternatives: readonly RuleAlternative[]) =>
  alternatives
    .map((each) => (typeof each === 'string' ? each : `${each.who} where ${each.where}`))
    .join(', ') || 'none';

function limitByColumn<T>(
  { columns }: TableCatalogue,
  limits: ReadonlyMap<string, PlannedCondition>,
  part: (when: PlannedCondition) => T,
): ReadonlyMap<string, T> | null {
  if ([...limits.values()].every(isAlways)) return null;
  const entries = columns.map(({ name }) => [name, limits.get(name) ?? always] as const);
  return new Map(entries.filter(([, when]) => !isNever(when)).map(([name, when]) => [name, part(when)]));
}

export function compileRule(
  facts: Pick<AccessFacts, 'catalogue' | 'me' | 'isApp'>,
  alternatives: readonly RuleAlternative[],
): PlannedCondition {
  return anyOf(
    alternatives.map((alternative) => {
      const whom = applies(facts, alternative);
      if (whom === 'nobody') return never;
      const who = whom === 'own' ? ownRows(facts) : always;
      const { where } = parseAlternative(alternative);
      const filter = withCallerValues(where, facts.me, (name) =>
        facts.catalogue.columns.some((column) => column.name === name && column.type === 'uuid'),
      );
      if (!filter) return never;
      const planned = planFilter(facts.catalogue, filter);
      return planned ? allOf([who, ...planned]) : never;
    }),
  );
}

function planFilter(catalogue: TableCatalogue, filter: readonly Condition[]): PlannedCondition[] | null {
  const find = (name: string) => requireCatalogueColumn(catalogue, name);
  try {
    return filter.map((condition) => planCondition(find, condition, { rowRefs: true }));
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

function applies(
  { me, isApp }: Pick<AccessFacts, 'me' | 'isApp'>,
  alternative: RuleAlternative,
): 'all' | 'own' | 'nobody' {
  const { who } = parseAlternative(alternative);
  switch (who.kind) {
    case 'any':
      return 'all';
    case 'own':
      return 'own';
    case 'app':
      return isApp ? 'all' : 'nobody';
    case 'none':
      return 'nobody';
    case 'role':
      return me.roles?.includes(who.role) ? 'all' : 'nobody';
  }
}

function limitToScope(
  { scope, ownApp, app }: AccessFacts,
  alternatives: readonly Alternative[],
): Alternative[] {
  if (!scope) return [...alternatives];
  const { apps, actions } = scope;
  const isOfApp = apps.length === 0 || apps.includes(app.id);
  // Apps and service accounts use their grants in other apps too.
  const usable = isOfApp ? alternatives : ownApp ? alternatives.filter(isGrant) : [];
  // Tokens that programs of a suspended app still use elsewhere may not write. An archived app refuses everybody anyway.
  const isSuspended = app.runtime === 'suspended' && app.record === 'active';
  const canWrite = actions.includes('write') && (isOfApp || ownApp?.canWrite !== false);
  const limited = usable.map((alternative) => ({
    ...alternative,
    reads: actions.includes('read') ? alternative.reads : {},
    changes: canWrite ? alternative.changes : {},
  }));
  const open = limited.filter(hasActions);
  return isSuspended ? open.map((alternative) => ({ ...alternative, changes: {} })) : open;
}

const isGrant = ({ because }: Alternative) => because.some(({ kind }) => kind === 'grant');
