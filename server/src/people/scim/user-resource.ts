import { isObject } from '@svc/contract/json.ts';
import { isSafeName, safeNameExpected } from '@svc/contract/safe-names.ts';
import { invalidValueError, ScimError } from './errors.ts';
import { parseOthers, patchList, patchOthers } from './other-attributes.ts';
import { attributeOf, type Json, type Operation, parseBoolean } from './patch.ts';

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';

/** The attributes of a user that are stored; all others are ignored. */
export interface UserAttributes {
  userName: string;
  externalId: string | null;
  active: boolean;
  displayName: string | null;
  name: Partial<Record<NamePart, string>>;
  emails: Email[];
  other: Json;
}

interface Email {
  value: string;
  type: string | null;
  primary: boolean;
  display?: string;
}

export const nameParts = [
  'formatted',
  'givenName',
  'familyName',
  'middleName',
  'honorificPrefix',
  'honorificSuffix',
] as const;
type NamePart = (typeof nameParts)[number];

const textCharsMax = 320;
const emailsMax = 20;

/** Parses a whole resource (POST, PUT). `active` keeps its value when absent: an omission must not give access back. */
export function parseUser(body: unknown, before: Pick<UserAttributes, 'active'>): UserAttributes {
  if (!isObject(body)) throw invalidValueError('The body must be an object.');
  const readAttribute = (name: string) => attributeOf(body, name);
  const userName = parseText(readAttribute('userName'), 'userName');
  if (userName === null) throw invalidValueError('userName is required.');
  return {
    userName,
    externalId: parseText(readAttribute('externalId'), 'externalId'),
    active: readAttribute('active') == null ? before.active : parseBoolean(readAttribute('active'), 'active'),
    displayName: parseText(readAttribute('displayName'), 'displayName'),
    name: parseName(readAttribute('name')),
    emails: parseEmails(readAttribute('emails')),
    other: parseOthers(body),
  };
}

export function patchUser(user: UserAttributes, operations: readonly Operation[]): UserAttributes {
  return operations.reduce(applyOperation, user);
}

function applyOperation(user: UserAttributes, { op, path, value }: Operation): UserAttributes {
  const set = op === 'remove' ? null : value;
  switch (path.attribute) {
    case 'username': {
      const userName = parseText(set, 'userName');
      if (userName === null) throw new ScimError(400, 'mutability', 'userName cannot be removed.');
      return { ...user, userName };
    }
    case 'externalid':
      return { ...user, externalId: parseText(set, 'externalId') };
    case 'displayname':
      return { ...user, displayName: parseText(set, 'displayName') };
    case 'active':
      return { ...user, active: op === 'remove' ? false : parseBoolean(single(value), 'active') };
    case 'name':
      return { ...user, name: patchName(user.name, path.part, set) };
    case 'emails': {
      const emails = patchList(user.emails, { op, path, value }, parseEmails);
      const [first] = emails;
      // The first address is the one that mail is sent to.
      if (first && user.emails.length === 0 && !emails.some(({ primary }) => primary)) first.primary = true;
      return { ...user, emails };
    }
    case 'id':
    case 'meta':
    case 'groups':
      throw new ScimError(400, 'mutability', `${path.attribute} cannot be changed.`);
    default:
      return { ...user, other: patchOthers(user.other, { op, path, value }) };
  }
}

/** Entra sends `[{ "value": "False" }]` for some attributes. */
const single = (value: unknown) => (Array.isArray(value) && isObject(value[0]) ? value[0].value : value);

function patchName(
  name: UserAttributes['name'],
  part: string | null,
  value: unknown,
): UserAttributes['name'] {
  if (part === null) return value === null ? {} : { ...name, ...parseName(value) };
  const key = nameParts.find((each) => each.toLowerCase() === part);
  if (key === undefined) return name;
  const { [key]: _, ...rest } = name;
  const text = parseText(value, `name.${key}`);
  return text === null ? rest : { ...rest, [key]: text };
}

function parseName(value: unknown): UserAttributes['name'] {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw invalidValueError('name must be an object.');
  return Object.fromEntries(
    nameParts.flatMap((part) => {
      const text = parseText(attributeOf(value, part), `name.${part}`);
      return text === null ? [] : [[part, text]];
    }),
  );
}

function parseEmails(value: unknown): Email[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > emailsMax)
    throw invalidValueError(`emails must be a list of at most ${emailsMax}.`);
  return value.flatMap((each: unknown) => {
    const email = isObject(each) ? each : { value: each };
    const address = parseText(attributeOf(email, 'value'), 'emails.value');
    if (address === null) return [];
    const primary = attributeOf(email, 'primary');
    const display = parseText(attributeOf(email, 'display'), 'emails.display');
    return {
      value: address,
      type: parseText(attributeOf(email, 'type'), 'emails.type'),
      primary: primary == null ? false : parseBoolean(primary, 'emails.primary'),
      ...(display === null ? {} : { display }),
    };
  });
}

export function parseText(value: unknown, attribute: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw invalidValueError(`${attribute} must be a text.`);
  const text = value.trim();
  if (text.length > textCharsMax || !text.isWellFormed())
    throw invalidValueError(`${attribute} must have at most ${textCharsMax} printable characters.`);
  if (!isSafeName(text)) throw invalidValueError(`${attribute} ${safeNameExpected}.`);
  return text === '' ? null : text;
}

/** The address that the person gets mail at: the primary one, else the first, else the user name. */
export function emailOf({ userName, emails }: Pick<UserAttributes, 'userName' | 'emails'>): string {
  return (emails.find(({ primary }) => primary) ?? emails[0])?.value ?? userName;
}

export function nameOf({ displayName, name }: Pick<UserAttributes, 'displayName' | 'name'>): string {
  const parts = [name.givenName, name.familyName].filter((part) => part !== undefined);
  return displayName ?? name.formatted ?? parts.join(' ');
}
