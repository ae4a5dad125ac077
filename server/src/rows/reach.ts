import { namePattern } from '@svc/contract/columns.ts';
import { findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import { credentialTag, userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isUuid } from '../plumbing/ref.ts';
import { appTag, tableTag } from '../tables/catalogue.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { tableGrantsOf } from '../tables/table-grants-of.ts';
import { accessDecision } from './access-decision.ts';
import type { RowAccess } from './access-rules.ts';
import { type RowTable, rowTable } from './row-table.ts';

/** One caller at one table: what it looks like now and what they may do with it. */
export interface Reached {
  app: Pick<AppAccess, 'id' | 'slug' | 'record'>;
  table: RowTable;
  access: RowAccess;
}

export interface Place {
  tenant: string;
  app: string;
  table: string;
}

export interface ReachParts {
  db: Db;
  cache: TaggedCache<Reached>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
}

/**
 * Null alike where tenant, app or table do not exist and where the caller has no part in them. Kept until something
 * that it rests on changes: the credential, the person, the app, the table, or an app that a grant names.
 */
export interface Reach {
  find(caller: Caller, place: Place): Promise<Reached | null>;
  /** What was found has proved out of date. */
  forget(caller: Caller, place: Place): void;
}

export function createReach(parts: ReachParts): Reach {
  const keyOf = (caller: Caller, place: Place) =>
    `${caller.credentialId} ${place.tenant}/${place.app}/${place.table}`;
  return {
    find: (caller, place) => parts.cache.get(keyOf(caller, place), () => load(parts, caller, place)),
    forget: (caller, place) => parts.cache.forget(keyOf(caller, place)),
  };
}

async function load({ db, tenantAccess }: ReachParts, caller: Caller, place: Place) {
  if (!isTableRef(place.table)) return null;
  const tenant = await tenantAccess(place.tenant, caller);
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) return null;
  const { userId } = caller;
  const app = await findAppOfTenant(db, tenant.id, { ref: place.app, userId });
  if (!app) return null;
  const catalogue = await loadCatalogue(db, { tenantId: tenant.id, appId: app.id, name: place.table });
  if (!catalogue) return null;
  const grants = await tableGrantsOf(db, catalogue.id);
  const { decide, apps } = await accessDecision(db, { tenant, app, caller }, grants);
  const access = decide(grants);
  if (!access) return null;
  const tags = [
    credentialTag(caller.credentialId),
    userTag(userId),
    tableTag(catalogue.id),
    ...apps.map(({ id }) => appTag(id)),
  ];
  return { value: { app, table: rowTable(catalogue), access }, tags };
}

/** What can name no table is not looked up: PostgreSQL would have a word to say about it, and only where the app is. */
const isTableRef = (text: string) => isUuid(text) || namePattern.test(text);
