import { expect, test } from 'bun:test';
import { parseFilter } from './filter.ts';
import { matches, parsePatch, parsePath } from './patch.ts';
import { emailOf, nameOf, parseUser, patchUser } from './user-resource.ts';

const user = parseUser(
  { userName: 'ada', emails: [{ value: 'a@example.test', type: 'work', primary: true }], active: true },
  { active: true },
);
const patched = (...Operations: object[]) => patchUser(user, parsePatch({ Operations }));

test('a path names an attribute, values of it by a filter, and a part of each', () => {
  expect(parsePath('name.familyName')).toEqual({ attribute: 'name', filter: null, part: 'familyname' });
  expect(parsePath('emails[type eq "work"].value')).toMatchObject({
    attribute: 'emails',
    filter: { kind: 'compare', path: 'type', op: 'eq', value: 'work' },
    part: 'value',
  });
  expect(parsePath('urn:ietf:params:scim:schemas:core:2.0:User:name.givenName')).toMatchObject({
    attribute: 'name',
    part: 'givenname',
  });
  expect(() => parsePath('members[')).toThrow('not well-formed');
});

test('a filter binds and before or', () => {
  const filter = parseFilter('a eq "1" or b eq "2" and not (c pr)');
  expect(filter).toMatchObject({ kind: 'or', parts: [{ path: 'a' }, { kind: 'and' }] });
  expect(matches({ b: '2' }, filter)).toBe(true);
  expect(matches({ b: '2', c: 'x' }, filter)).toBe(false);
  expect(() => parseFilter(`${'('.repeat(30)}a pr${')'.repeat(30)}`)).toThrow('nested');
});

test('an operation without a path may have paths as keys, and unknown attributes are ignored', () => {
  const changed = patched({
    op: 'Replace',
    value: { 'name.givenName': 'Ada', title: 'Dr', displayName: 'Ada L.' },
  });
  expect([changed.name.givenName, changed.displayName]).toEqual(['Ada', 'Ada L.']);
});

test('the removal of `active` deactivates, and PUT without it changes nothing', () => {
  expect(patched({ op: 'remove', path: 'active' }).active).toBe(false);
  expect(parseUser({ userName: 'ada' }, { active: false }).active).toBe(false);
});

test('an added primary address takes the place of the earlier one', () => {
  const changed = patched({ op: 'add', path: 'emails', value: [{ value: 'b@example.test', primary: true }] });
  expect(changed.emails.map(({ value, primary }) => [value, primary])).toEqual([
    ['a@example.test', false],
    ['b@example.test', true],
  ]);
  expect(emailOf(changed)).toBe('b@example.test');
});

test('a value that does not exist yet has what the filter of its path says', () => {
  const none = patchUser(
    { ...user, emails: [] },
    parsePatch({
      Operations: [
        { op: 'Add', path: 'emails[type eq "work"].value', value: 'w@example.test' },
        { op: 'Add', path: 'roles[primary eq "True"].value', value: 'admin' },
        { op: 'Add', path: 'addresses[type eq "work" and primary eq true].region', value: 'CA' },
      ],
    }),
  );
  expect(none.emails).toEqual([{ value: 'w@example.test', type: 'work', primary: true }]);
  expect(none.other).toEqual({ roles: [{ value: 'admin', primary: true }], addresses: [{ region: 'CA' }] });
});

test('an extension is patched as a whole and by its attributes; unknown attributes are ignored', () => {
  const urn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
  const changed = patched(
    { op: 'add', value: { [urn]: { department: 'Sales', shoes: 4 }, 'urn:example:2.0:User:size': 'L' } },
    { op: 'add', path: `${urn}:manager`, value: [{ value: '7' }] },
    { op: 'replace', path: `${urn}:manager.displayName`, value: 'Jo' },
    { op: 'remove', path: `${urn}:costCenter` },
  );
  expect(changed.other).toEqual({
    [urn]: { department: 'Sales', manager: { value: '7', displayName: 'Jo' } },
  });
  const operations = parsePatch({ Operations: [{ op: 'remove', path: urn }] });
  expect(patchUser(changed, operations).other).toEqual({});
});

test('the name of a person is the display name, else made of its parts', () => {
  expect(nameOf({ displayName: null, name: { givenName: 'Ada', familyName: 'L' } })).toBe('Ada L');
  expect(nameOf({ displayName: 'Countess', name: { givenName: 'Ada' } })).toBe('Countess');
});
