import { parseAlternative } from '@svc/contract/table-rules.ts';
import { findEndedGrant } from '../../access/grants/grants.ts';
import type { Db } from '../../core/db.ts';
import type { ConnectorDecision } from '../connectors/access.ts';
import type { Alternative } from '../rows/access.ts';
import type { decideTableAccess, TableAccess } from '../rows/table-access.ts';
import { isNever, missingAttributes } from '../tables/conditions.ts';
import { listWords, policyWords } from './words.ts';

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
    ? `Request access in the console, or with: svc grants request ${scope} --expires-in 8h --reason "…"`
    : `Create a grant with: svc grants create --subject ${email} ${scope} – or ask them to request access.`;
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
    next: `Check the name. If the table is new, an admin can refresh the list of tables with: svc connectors schema refresh ${connector.slug}`,
  };
  if (!tableExists && knowsTables) return noTable;
  const next = requestNext(person, decision);
  if (grants.length === 0) {
    const { userId } = person;
    const ended = await findEndedGrant(db, tenantId, { userId, connectorId: connector.id });
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
    next: `An admin can change which columns the ${isOne ? 'policy shows' : 'policies show'}.`,
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
      : `Set it with: svc members set ${email} --attribute ${first}=<value>`,
  };
}

export function tableReason(decision: TableDecision, person: Person): Reason | null {
  const { value, facts, app, catalogue } = decision;
  const { name } = catalogue;
  const { isSelf, email } = person;
  if (facts.through && !facts.through.visible)
    return {
      reason:
        app.visibility === 'private'
          ? `The app ${app.slug} is private: only its owners can use it, and ${isSelf ? 'you are' : `${email} is`} not one of them.`
          : `Only invited people can use the app ${app.slug}, and ${isSelf ? 'you are' : `${email} is`} not invited.`,
      next: isSelf
        ? 'Ask an owner of the app to let you use it.'
        : `${app.visibility === 'private' ? 'Publish the app to invited people, then invite' : 'Invite'} them with: svc apps members add --app ${app.slug} --user ${email}`,
    };
  if (value?.access.actions.has('read')) return narrowedReason(value, person);
  if (facts.through) return ruleReason(decision, person);
  if (value && !hasReadPart(value.access.alternatives))
    return {
      reason: `${whoseFirst(person)} table grant allows changes of rows of ${name}, but not reading them.`,
      next: `An owner can add the action read with: svc tables grants issue --app ${app.slug} --table ${name} --principal-type user --principal-id ${email} --actions read`,
    };
  return {
    reason: `On the command line and in the console, only owners of ${app.slug} and people with a table grant can read the table ${name}; ${isSelf ? 'you are' : `${email} is`} neither.`,
    next: `${isSelf ? 'You' : 'They'} can use the app instead, or an owner can add a table grant with: svc tables grants issue --app ${app.slug} --table ${name} --principal-type user --principal-id ${email} --actions read`,
  };
}

function ruleReason({ facts: { me }, app, catalogue }: TableDecision, person: Person): Reason {
  const { name, rules } = catalogue;
  const { email } = person;
  const parsed = rules.read.map(parseAlternative);
  const isFor = ({ who }: (typeof parsed)[number]) =>
    who.kind === 'any' || who.kind === 'own' || (who.kind === 'role' && !!me.roles?.includes(who.role));
  const missing = parsed.filter(isFor).flatMap(({ where }) => missingAttributes(where, me));
  if (missing.length > 0) return missingReason(`a rule of ${name} ${shows(1)}`, missing, person);
  const roles = parsed.flatMap(({ who }) =>
    who.kind === 'role' && !me.roles?.includes(who.role) ? [who.role] : [],
  );
  const set = `svc tables access set ${name} --app ${app.slug} --read …`;
  if (roles.length > 0)
    return {
      reason: `Reading the table ${name} needs ${rolesWords(roles)} in the app ${app.slug}, and ${person.isSelf ? 'you' : email} ${does(person)} not have it.`,
      next: person.isSelf
        ? 'Ask an owner of the app for the role.'
        : `Give them the role with: svc apps roles set --app ${app.slug} --role ${roles[0]} --user ${email}`,
    };
  if (parsed.some(isFor))
    return {
      reason: `The rules of ${name} show only rows that match ${whose(person)} attributes, and their values do not fit the columns.`,
      next: `Look at the attributes with: svc members get ${email}`,
    };
  return {
    reason: `People who use the app ${app.slug} cannot read the table ${name}: its rules let only ${readersWords(rules.read)}.`,
    next: `An owner can change the rules with: ${set}`,
  };
}

const rolesWords = (roles: readonly string[]) =>
  new Set(roles).size === 1 ? `the role ${roles[0]}` : `one of the roles ${listWords(roles)}`;

function readersWords(read: TableDecision['catalogue']['rules']['read']): string {
  const isApp = read.some((each) => parseAlternative(each).who.kind === 'app');
  return isApp ? 'the app itself read it' : 'owners read it, outside the app';
}

export function emptyReason(
  person: Person,
  {
    filter,
    rows,
    label,
    value,
  }: {
    filter: string;
    rows: { visible: number | null; all: number | null };
    label: string;
    value: TableAccess | null;
  },
): Reason | null {
  if (rows.visible !== 0) return null;
  if (rows.all === 0 || filter === 'all rows')
    return { reason: `The table ${label} is empty.`, next: 'The access works: new rows will be visible.' };
  const policies = value?.access.alternatives.flatMap(({ reads }) => reads.read?.policies ?? []) ?? [];
  const inNone = policies.filter(({ emptyLists }) => emptyLists.includes('groups'));
  const who = person.isSelf ? 'you' : person.email;
  if (inNone.length > 0)
    return {
      reason: `${subject(person)} ${sees(person)} no rows: ${policyWords(inNone.map(({ source }) => source.text))} ${shows(inNone.length)} each person only rows that match their groups, and ${who} ${person.isSelf ? 'are' : 'is'} in no group.`,
      next: person.isSelf
        ? 'Ask an admin to add you to a group.'
        : `Add them to one with: svc groups members add <group> --user ${person.email}`,
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
