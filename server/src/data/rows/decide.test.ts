import { describe, expect, test } from 'bun:test';
import { presetRules, type TableRules } from '@svc/contract/table-rules.ts';
import { always, isAlways } from '../tables/conditions.ts';
import type { TableGrantEntry } from '../tables/grants.ts';
import { viewOf } from './access.ts';
import { type AccessFacts, decideAccess } from './decide.ts';
import { testTable } from './testing.ts';

interface RowAccess {
  read: boolean;
  write: boolean;
  ownRowsOf: string | null;
}

const { catalogue } = testTable();
const keys = { inner: '', outer: '' };

/** Reading and changing, and whether rows of others are included. */
function decided(facts: AccessFacts): RowAccess | null {
  const access = decideAccess(facts);
  if (!access) return null;
  const { rows } = viewOf(access, 'read', catalogue, keys);
  const { update } = access.alternatives[0]?.changes ?? {};
  const isAll = access.actions.has('read') ? isAlways(rows) : !update || isAlways(update.where);
  return {
    read: access.actions.has('read'),
    write: (['insert', 'update', 'delete'] as const).every((action) => access.actions.has(action)),
    ownRowsOf: isAll ? null : 'u1',
  };
}

const facts: AccessFacts = {
  me: { id: 'u1', email: 'u1@example.test', roles: [], groups: [], attributes: {} },
  isApp: false,
  ownApp: null,
  catalogue,
  rules: catalogue.rules,
  grants: [],
  enforced: [],
  role: 'tenant_member',
  through: null,
  scope: null,
  app: { id: 'a1', relation: 'none', record: 'active', runtime: 'none' },
  tableGrants: [],
  groups: new Set(),
  ownedApps: new Set(),
};
const grant = (
  principalType: TableGrantEntry['principalType'],
  principalId: string,
  ...actions: TableGrantEntry['actions'][number][]
): TableGrantEntry => ({ id: 'g', principalType, principalId, actions });
const scope = (more: Partial<NonNullable<AccessFacts['scope']>> = {}) => ({
  tenantId: 't1',
  apps: [],
  actions: ['read', 'write'] as ('read' | 'write')[],
  ...more,
});

const all: RowAccess = { read: true, write: true, ownRowsOf: null };
const own: RowAccess = { read: true, write: true, ownRowsOf: 'u1' };
const ownReading: RowAccess = { read: true, write: false, ownRowsOf: 'u1' };
const ownWriting: RowAccess = { read: false, write: true, ownRowsOf: 'u1' };
const owner = { app: { ...facts.app, relation: 'owner' } } as const;
const coOwner = { app: { ...facts.app, relation: 'co_owner' } } as const;
const suspended = { app: { ...owner.app, runtime: 'suspended' } } as const;
const archived = { app: { ...suspended.app, record: 'archived' } } as const;
const seen = (appId: string) => ({ through: { appId, visible: true } });
const everyone = grant('role', 'tenant_member', 'read', 'write');

type Row = [who: string, facts: Partial<AccessFacts>, access: RowAccess | null];

describe('by login', () => {
  test.each<Row>([
    ['the owner', owner, all],
    ['a co-owner', coOwner, all],
    ['an owner who also has a grant', { ...owner, tableGrants: [grant('user', 'u1', 'read')] }, all],
    ['a member without a grant', {}, null],
    ['an admin without a grant', { role: 'tenant_admin' }, null],
    ['a member by their own grant', { tableGrants: [grant('user', 'u1', 'read')] }, ownReading],
    ['a member by a grant to write', { tableGrants: [grant('user', 'u1', 'write')] }, ownWriting],
    ['a member where another has a grant', { tableGrants: [grant('user', 'u2', 'read')] }, null],
    ['a member by two grants', { tableGrants: [grant('user', 'u1', 'write'), everyone] }, own],
    ['a member by the role of members', { tableGrants: [everyone] }, own],
    ['an admin by the role of members', { role: 'tenant_admin', tableGrants: [everyone] }, own],
    ['a member by the role of admins', { tableGrants: [grant('role', 'tenant_admin', 'read')] }, null],
    [
      'an admin by the role of admins',
      { role: 'tenant_admin', tableGrants: [grant('role', 'tenant_admin', 'read')] },
      ownReading,
    ],
    [
      'the owner of an app that has a grant',
      { tableGrants: [grant('app', 'a2', 'read')], ownedApps: new Set(['a2']) },
      ownReading,
    ],
    [
      'the owner of another app than the one that has a grant',
      { tableGrants: [grant('app', 'a2', 'read')], ownedApps: new Set(['a3']) },
      null,
    ],
    [
      'a user whose id is the name of a role',
      { tableGrants: [grant('user', 'tenant_member', 'read')] },
      null,
    ],
    [
      'a grant without actions',
      { tableGrants: [grant('user', 'u1')] },
      { ...all, read: false, write: false },
    ],
  ])('%s', (_, given, access) => {
    expect(decided({ ...facts, ...given })).toEqual(access);
  });
});

describe('through an app', () => {
  test.each<Row>([
    ['the table’s own, by anyone who sees it', seen('a1'), own],
    ['the table’s own, by its owner', { ...seen('a1'), ...owner }, own],
    [
      'the table’s own, which they no longer see',
      { through: { appId: 'a1', visible: false }, ...owner },
      null,
    ],
    ['another app without a grant', seen('a2'), null],
    ['another app without a grant, by the owner of the table', { ...seen('a2'), ...owner }, null],
    ['another app with a grant', { ...seen('a2'), tableGrants: [grant('app', 'a2', 'read')] }, ownReading],
    [
      'another app with a grant that they no longer see',
      { through: { appId: 'a2', visible: false }, tableGrants: [grant('app', 'a2', 'read')] },
      null,
    ],
    [
      'another app, by a grant to the user',
      { ...seen('a2'), tableGrants: [grant('user', 'u1', 'read')] },
      null,
    ],
    ['another app, by a grant to their role', { ...seen('a2'), tableGrants: [everyone] }, null],
    [
      'another app, by a grant to a third one of theirs',
      { ...seen('a2'), tableGrants: [grant('app', 'a3', 'read')], ownedApps: new Set(['a3']) },
      null,
    ],
  ])('%s', (_, given, access) => {
    expect(decided({ ...facts, ...given })).toEqual(access);
  });
});

describe('with the identity of the app itself', () => {
  const itself: Partial<AccessFacts> = { isApp: true, ownApp: { id: 'a1', canWrite: true }, scope: scope() };
  const { own: ownPreset } = presetRules;
  const ruled = (rules: Partial<TableRules>) => ({ ...itself, rules: { ...ownPreset, ...rules } });
  const changes = (rule: string) => ({ insert: [rule], update: [rule], delete: [rule] });
  test.each<Row>([
    ['where the rules name app: all rows', itself, all],
    [
      'where they are for owners of rows: its own, of which it has none',
      ruled({ read: ['own'], ...changes('own') }),
      own,
    ],
    ['where they give it reading only', ruled(changes('none')), { ...all, write: false }],
    [
      'where they give it changes only',
      ruled({ read: ['none'], ...changes('app') }),
      { ...all, read: false },
    ],
    ['where they name a role only', ruled({ read: ['role:manager'], ...changes('role:manager') }), null],
    [
      'where they name nobody, although its owner has everything',
      { ...ruled({ read: ['none'], ...changes('none') }), ...owner },
      null,
    ],
    [
      'where they name nobody, although it has a table grant',
      { ...ruled({ read: ['none'], ...changes('none') }), tableGrants: [everyone] },
      null,
    ],
    ['while it is suspended: reading', { ...itself, ...suspended }, { ...all, write: false }],
    ['in review: reading', { ...itself, scope: scope({ actions: ['read'] }) }, { ...all, write: false }],
    ['as a person, where the rules name app only', { ...seen('a1'), rules: presetRules.closed }, null],
  ])('%s', (_, given, access) => {
    expect(decided({ ...facts, ...given })).toEqual(access);
  });
});

describe('by token', () => {
  test.each<Row>([
    ['of an owner: all rows', { ...owner, scope: scope() }, all],
    ['of an owner, to read', { ...owner, scope: scope({ actions: ['read'] }) }, { ...all, write: false }],
    ['of an owner, to write', { ...owner, scope: scope({ actions: ['write'] }) }, { ...all, read: false }],
    ['of an owner, for nothing', { ...owner, scope: scope({ actions: [] }) }, null],
    ['of an owner, for this app', { ...owner, scope: scope({ apps: ['a2', 'a1'] }) }, all],
    ['of an owner, for another app', { ...owner, scope: scope({ apps: ['a2'] }) }, null],
    ['of somebody without a grant', { scope: scope() }, null],
    ['of somebody with a grant: own rows', { scope: scope(), tableGrants: [everyone] }, own],
    [
      'to write, of somebody who may read',
      { scope: scope({ actions: ['write'] }), tableGrants: [grant('user', 'u1', 'read')] },
      null,
    ],
    [
      'to read, of somebody who may read and write',
      { scope: scope({ actions: ['read'] }), tableGrants: [everyone] },
      ownReading,
    ],
    [
      'of an owner, while the app is suspended: reading',
      { ...suspended, scope: scope() },
      { ...all, write: false },
    ],
    [
      'to write, while the app is suspended: nothing, though the table is there',
      { ...suspended, scope: scope({ actions: ['write'] }) },
      { ...all, read: false, write: false },
    ],
    ['of none, while the app is suspended: the owner, logged in', suspended, all],
    [
      'of an owner, while the app is archived: as logged in, what is archived refuses',
      { ...archived, scope: scope() },
      all,
    ],
    [
      'of an owner, to read, while the app is archived',
      { ...archived, scope: scope({ actions: ['read'] }) },
      { ...all, write: false },
    ],
  ])('%s', (_, given, access) => {
    expect(decided({ ...facts, ...given })).toEqual(access);
  });
});

test('a column that one alternative shows in all rows is clear, whatever the others do with it', () => {
  const shown = { when: always, mask: null };
  const others = catalogue.columns.filter(({ name }) => name !== catalogue.idColumn.name);
  const withoutId = new Map(others.map(({ name }) => [name, shown]));
  const alternatives = [withoutId, null].map((columns) => ({
    because: [],
    reads: { read: { where: always, columns } },
    changes: {},
    insertsOwn: false,
  }));
  const access = { actions: new Set(['read'] as const), alternatives, insertsOwn: false };
  expect(viewOf(access, 'read', catalogue, keys).columns).toBeNull();
});
