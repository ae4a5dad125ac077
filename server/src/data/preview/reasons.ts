import { type ParsedAlternative, parseAlternative } from '@svc/contract/table-rules.ts';
import { findEndedGrant } from '../../access/grants/grants.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import type { Db } from '../../core/db.ts';
import type { ConnectorDecision } from '../connectors/access.ts';
import type { Alternative } from '../rows/access.ts';
import type { decideTableAccess, TableAccess } from '../rows/table-access.ts';
import { isNever, type Me, missingAttributes } from '../tables/conditions.ts';
import { listWords, policyWords, shellWord } from './words.ts';

export interface Reason {
  reason: string;
  next: string;
}

export interface Person {
  isSelf: boolean;
  email: string;
  userId: string;
}

const subject = ({ isSelf, email }: Person) => (isSelf ? 'You' : email);
const has = ({ isSelf }: Person) => (isSelf ? 'have' : 'has');
const sees = ({ isSelf }: Person) => (isSelf ? 'see' : 'sees');
const does = ({ isSelf }: Person) => (isSelf ? 'do' : 'does');
const whose = ({ isSelf, email }: Person) => (isSelf ? 'your' : `${email}'s`);
const whoseFirst = ({ isSelf, email }: Person) => (isSelf ? 'Your' : `${email}'s`);

type TableDecision = NonNullable<Awaited<ReturnType<typeof decideTableAccess>>>;

export const suspendedReason = (person: Person, status: string): Reason => ({
  reason: `${whoseFirst(person)} ${status === 'suspended' ? 'account' : 'membership'} is ${status}, so no grant or rule gives them access.`,
  next:
    status === 'suspended'
      ? 'The operator of the platform can reactivate the account.'
      : 'The directory that manages the members of this tenant can reactivate it.',
});

export const closedReason = (label: string): Reason => ({
  reason: `${label} is not open to you: there is no such table, or no rule or grant of it applies to you.`,
  next: 'Check the name of the table, or ask an owner of the app for access.',
});

function requestNext(
  { isSelf, email }: Person,
  { connector, path }: Pick<ConnectorDecision, 'connector' | 'path'>,
) {
  const scope = `--connector ${connector.slug} --preset reader --scope ${path}`;
  return isSelf
    ? `Request access in the console, or with: svc grants request ${scope} --expires-in 8h --reason <reason> --execute`
    : `Create a grant with: svc grants create --subject ${email} ${scope} --execute – or ask them to request access.`;
}

export async function connectorReason(
  db: Db,
  tenantId: string,
  decision: ConnectorDecision,
  person: Person,
  { tableExists, knowsTables }: { tableExists: boolean; knowsTables: boolean },
): Promise<Reason | null> {
  const { connector, path, grants, inScope, value } = decision;
  const noTable = {
    reason: `The connector ${connector.slug} has no table ${path}.`,
    next: knowsTables
      ? `Check the name: svc connectors tables ${connector.slug} lists the tables.${connector.kind === 'tables' ? '' : ` If the table is new, refresh the list with: svc connectors schema refresh ${connector.slug}`}`
      : 'Check the name: svc grants tables shows the tables that you can read.',
  };
  if (!tableExists && knowsTables) return noTable;
  const next = requestNext(person, decision);
  if (grants.length === 0) {
    const ended = await findEndedGrant(db, tenantId, { userId: person.userId, connectorId: connector.id });
    const day = ended?.at ? ` on ${ended.at.toISOString().slice(0, 10)}` : '';
    const last = ended
      ? ` The last one ${ended.status === 'revoked' ? 'was revoked' : 'expired'}${day}.`
      : '';
    return {
      reason: `${subject(person)} ${has(person)} no active grant on the connector ${connector.slug}.${last}`,
      next,
    };
  }
  if (inScope.length === 0) {
    const scope = listWords(grants.flatMap((grant) => grant.scope));
    return {
      reason: `${whoseFirst(person)} grants on the connector ${connector.slug} cover only ${scope}, not ${path}.`,
      next,
    };
  }
  if (!tableExists) return noTable;
  const actions = listWords(inScope.flatMap((grant) => grant.actions));
  const presetReason = {
    reason: `${whoseFirst(person)} grants on ${path} allow ${actions || 'nothing'}, but not read, because their preset does not include it.`,
    next,
  };
  if (!value) return presetReason;
  return hasReadPart(value.access.alternatives) ? narrowedReason(value, person) : presetReason;
}

const hasReadPart = (alternatives: readonly Alternative[]) => alternatives.some(({ reads }) => reads.read);

function narrowedReason(value: TableAccess, person: Person): Reason | null {
  const policies = value.access.alternatives.flatMap(({ reads }) => reads.read?.policies ?? []);
  if (isNever(value.table.view.rows)) {
    const missing = policies.filter((policy) => policy.missing.length > 0);
    const names = policyWords(missing.map(({ source }) => source.text));
    const attributes = missing.flatMap((policy) => policy.missing);
    if (attributes.includes('roles')) return rolesReason(names, person);
    if (missing.length > 0) return missingReason(`${names} ${shows(missing.length)}`, attributes, person);
    return {
      reason: `${subject(person)} ${sees(person)} no rows: no row can match the filter of ${policyWords(policies.map(({ source }) => source.text))}.`,
      next: `An admin can compare the filter with ${whose(person)} groups, roles and attributes.`,
    };
  }
  if (value.table.byName.size > 0) return null;
  const hiding = policies.filter(
    ({ isVisible }) => !value.table.catalogue.columns.every(({ name }) => isVisible(name)),
  );
  if (hiding.length === 0)
    return {
      reason: `${subject(person)} ${sees(person)} nothing: the rules of ${value.table.catalogue.name} hide every column.`,
      next: 'An owner of the app can change the rules.',
    };
  const names = [...new Set(hiding.map(({ source }) => source.text))];
  const isOne = names.length === 1;
  return {
    reason: `${subject(person)} ${sees(person)} nothing: ${policyWords(names)} ${isOne ? 'hides' : 'hide'} every column.`,
    next: person.isSelf
      ? `An admin can change which columns the ${isOne ? 'policy shows' : 'policies show'}.`
      : `Change which columns ${isOne ? 'it shows' : 'they show'} with: svc policies update ${isOne ? names.map(shellWord).join() : '<policy>'} --columns-mode allow --columns <column>,<column> --execute`,
  };
}

const shows = (count: number) => (count === 1 ? 'shows' : 'show');

const rolesReason = (policies: string, person: Person): Reason => ({
  reason: `${subject(person)} ${sees(person)} no rows: roles exist only in apps, and the filter of ${policies} compares with the person's roles.`,
  next: 'An admin can use groups in the filter instead: @me.groups',
});

function missingReason(what: string, attributes: readonly string[], person: Person): Reason {
  const names = listWords(attributes);
  const [first = ''] = attributes;
  const { isSelf, email } = person;
  const [word, these] =
    new Set(attributes).size === 1 ? ['attribute', 'this attribute'] : ['attributes', 'these attributes'];
  return {
    reason: `${subject(person)} ${sees(person)} no rows: ${what} each person only rows that match their ${word} ${names}, and ${isSelf ? 'you' : email} ${does(person)} not have ${these}.`,
    next: isSelf
      ? `Ask an admin to set the ${word} ${names} for you.`
      : `Set it with: svc members set ${email} --attribute ${first}=<value> --execute`,
  };
}

export function tableReason(decision: TableDecision, person: Person): Reason | null {
  const { value, facts, app, catalogue } = decision;
  const { name, rules } = catalogue;
  const { isSelf, email } = person;
  if (facts.through && !facts.through.visible)
    return {
      reason:
        app.visibility === 'private'
          ? `The app ${app.slug} is private: only its owners can use it, and ${isSelf ? 'you are' : `${email} is`} not one of them.`
          : `Only invited people can use the app ${app.slug}, and ${isSelf ? 'you are' : `${email} is`} not invited.`,
      next: isSelf
        ? 'Ask an owner of the app to let you use it.'
        : `An owner ${app.visibility === 'private' ? `must publish it: svc publish --app ${app.slug} --visibility invite_only --execute (another admin may have to approve it), and then invite them:` : 'can invite them with:'} svc apps members add --app ${app.slug} --user ${email} --execute`,
    };
  if (value?.access.actions.has('read')) return narrowedReason(value, person);
  if (facts.through) return ruleReason(decision, person);
  const issue = `svc tables grants issue --app ${app.slug} --table ${name} --principal-type user --principal-id ${email} --actions read --execute`;
  if (value && !hasReadPart(value.access.alternatives))
    return {
      reason: `${whoseFirst(person)} table grant allows changes of rows of ${name}, but not reading them.`,
      next: `An owner can add the action read with: ${issue}`,
    };
  const fitting = rules.read.map(parseAlternative).filter((each) => isFor(each, facts.me));
  const isOpen =
    isVisibleTo(app.visibility, app.relation, 'tenant_member') &&
    fitting.some(({ where }) => missingAttributes(where, facts.me).length === 0);
  return {
    reason: `On the command line and in the console, owners of ${app.slug} and people with a table grant can read the table ${name}; ${isSelf ? 'you are' : `${email} is`} neither.`,
    next: `${isOpen ? `${isSelf ? 'You' : 'They'} can use the app instead, or an` : 'An'} owner can add a table grant with: ${issue}`,
  };
}

const isFor = ({ who }: ParsedAlternative, { roles }: Me) =>
  who.kind === 'any' || who.kind === 'own' || (who.kind === 'role' && !!roles?.includes(who.role));

function ruleReason({ facts: { me }, app, catalogue }: TableDecision, person: Person): Reason {
  const { name, rules } = catalogue;
  const { email } = person;
  const parsed = rules.read.map(parseAlternative);
  const fitting = parsed.filter((each) => isFor(each, me));
  const missing = fitting.flatMap(({ where }) => missingAttributes(where, me));
  if (missing.length > 0) return missingReason(`a rule of ${name} ${shows(1)}`, missing, person);
  const roles = parsed.flatMap(({ who }) =>
    who.kind === 'role' && !me.roles?.includes(who.role) ? [who.role] : [],
  );
  if (roles.length > 0)
    return {
      reason: `Reading the table ${name} needs ${rolesWords(roles)} in the app ${app.slug}, and ${person.isSelf ? 'you' : email} ${does(person)} not have it.`,
      next: person.isSelf
        ? 'Ask an owner of the app for the role.'
        : `An owner of ${app.slug} can give them the role with: svc apps roles set --app ${app.slug} --role ${roles[0]} --user ${email} --execute`,
    };
  if (fitting.length > 0)
    return {
      reason: `The rules of ${name} show only rows that match ${whose(person)} attributes, and their values do not fit the columns.`,
      next: `Look at the attributes with: svc members get ${email}`,
    };
  return {
    reason: `People who use the app ${app.slug} cannot read the table ${name}: its rules let only ${readersWords(rules.read)}.`,
    next: `An owner can open it to everybody who uses the app with: svc tables access set ${name} --app ${app.slug} --read any --execute (own: only their own rows; role:<name>: only people with that role).`,
  };
}

const rolesWords = (roles: readonly string[]) =>
  new Set(roles).size === 1 ? `the role ${roles[0]}` : `one of the roles ${listWords(roles)}`;

function readersWords(read: TableDecision['catalogue']['rules']['read']): string {
  const isApp = read.some((each) => parseAlternative(each).who.kind === 'app');
  return isApp ? 'the app itself read it' : 'owners read it, outside the app';
}

interface Finding {
  filter: string;
  rows: { visible: number | null; all: number | null };
  label: string;
  value: TableAccess | null;
}

export function emptyReason(person: Person, { filter, rows, label, value }: Finding): Reason | null {
  if (rows.visible !== 0) return null;
  if (rows.all === 0 || filter === 'all rows')
    return { reason: `The table ${label} is empty.`, next: 'The access works: new rows will be visible.' };
  const policies = value?.access.alternatives.flatMap(({ reads }) => reads.read?.policies ?? []) ?? [];
  const inNone = policies.filter(({ emptyLists }) => emptyLists.includes('groups'));
  const who = person.isSelf ? 'you' : person.email;
  // One's own preview names only columns that one sees.
  const [, column] = /^“([^”]*)” is one of an empty list$/.exec(person.isSelf ? '' : filter) ?? [];
  if (inNone.length > 0)
    return {
      reason: `${subject(person)} ${sees(person)} no rows: ${policyWords(inNone.map(({ source }) => source.text))} ${shows(inNone.length)} ${column ? `only rows whose “${column}” is the name or id of a group that the person is in` : 'each person only rows that match their groups'}, and ${who} ${person.isSelf ? 'are' : 'is'} in no group.`,
      next: person.isSelf
        ? 'Ask an admin to add you to a group.'
        : `Add them to ${column ? `a group whose name or id occurs in “${column}”:` : 'one with:'} svc groups members add <group> --user ${person.email} --execute`,
    };
  const owner = value?.table.catalogue.owner?.name;
  if (!person.isSelf && filter === `“${owner}” is ${who}`)
    return {
      reason: `${who} sees only rows that belong to ${who} (column “${owner}”). ${rows.all === 1 ? 'The only row belongs to somebody else.' : `None of the ${rows.all} rows belongs to them.`}`,
      next: `The access works; if ${rows.all === 1 ? 'the' : 'a'} row should be theirs, check the column “${owner}”.`,
    };
  const none =
    rows.all === null
      ? 'There is no such row.'
      : rows.all === 1
        ? 'The only row does not match.'
        : `None of the ${rows.all} rows matches.`;
  const names = [...new Set(policies.map(({ source }) => source.text))];
  const compared = names.length === 0 ? 'this condition' : `the filter of ${policyWords(names)}`;
  return {
    reason: `${subject(person)} may see only rows of ${label} where ${filter}. ${none}`,
    next: person.isSelf
      ? 'If you expect rows here, ask an admin or an owner to look at the filter.'
      : `If you expect rows, compare ${compared} with the values in the table.`,
  };
}
