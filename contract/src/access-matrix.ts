/** Rights of each kind of person under the rules of a table, for the preview of a rules form. */
import {
  type Alternative,
  parseAlternative,
  type RuleAction,
  rolesOfRules,
  ruleActions,
  type TableRules,
} from './table-rules.ts';

/** `yes`: for every row. Otherwise for the rows that meet one of the filters; none: for no row. */
export type Access = 'yes' | readonly string[];

export interface MatrixRow {
  who: string;
  actions: Record<RuleAction, Access>;
  /** Columns that this kind of person never reads, or never writes. */
  hidden: readonly string[];
  readOnly: readonly string[];
}

interface PersonKind {
  who: string;
  roles: readonly string[];
  isApp: boolean;
  ownsRow: boolean;
}

const person = { roles: [], isApp: false, ownsRow: false };

export function accessMatrix(
  rules: TableRules,
  { ownerColumn }: { ownerColumn: string | null },
): MatrixRow[] {
  const kinds: PersonKind[] = [
    { ...person, who: 'Everybody who may use the app' },
    ...rolesOfRules(rules).map((role) => ({ ...person, who: `With the role ${role}`, roles: [role] })),
    ...(ownerColumn === null ? [] : [{ ...person, who: 'The owner of a row', ownsRow: true }]),
    { ...person, who: 'The app itself', isApp: true },
  ];
  return [...kinds.map((kind) => matrixRow(rules, kind)), appOwners];
}

/** The rules do not hold for them here and on the command line; inside the app they are people like others. */
const appOwners: MatrixRow = {
  who: 'Owners of the app, in the console and the command line',
  actions: { read: 'yes', insert: 'yes', update: 'yes', delete: 'yes' },
  hidden: [],
  readOnly: [],
};

function matrixRow(rules: TableRules, kind: PersonKind): MatrixRow {
  const actions = Object.fromEntries(
    ruleActions.map((action) => [action, accessOf(rules[action], kind)]),
  ) as MatrixRow['actions'];
  const columns = Object.entries(rules.columns);
  const isClosed = (list: readonly Alternative[] | undefined) =>
    list !== undefined && accessOf(list, kind).length === 0;
  return {
    who: kind.who,
    actions,
    hidden: columns.filter(([, { read }]) => isClosed(read)).map(([name]) => name),
    readOnly: columns
      .filter(([, { read, write }]) => !isClosed(read) && isClosed(write))
      .map(([name]) => name),
  };
}

function accessOf(alternatives: readonly Alternative[], kind: PersonKind): Access {
  const filters: string[] = [];
  for (const alternative of alternatives) {
    const { who, where } = parseAlternative(alternative);
    if (!isMeant(who, kind)) continue;
    if (where.length === 0) return 'yes';
    filters.push(typeof alternative === 'string' ? alternative : alternative.where);
  }
  return filters;
}

function isMeant(
  who: ReturnType<typeof parseAlternative>['who'],
  { roles, isApp, ownsRow }: PersonKind,
): boolean {
  switch (who.kind) {
    case 'any':
      return true;
    case 'own':
      return ownsRow;
    case 'app':
      return isApp;
    case 'role':
      return roles.includes(who.role);
    case 'none':
      return false;
  }
}

/** `role:manager where region=eq.@me.region`, as people read and type an alternative. */
export function alternativeText(alternative: Alternative): string {
  return typeof alternative === 'string' ? alternative : `${alternative.who} where ${alternative.where}`;
}

export function parseAlternativeText(text: string): Alternative {
  const [, who, where] = /^(\S+) where (.+)$/s.exec(text.trim()) ?? [];
  return who !== undefined && where !== undefined ? { who, where } : text.trim();
}
