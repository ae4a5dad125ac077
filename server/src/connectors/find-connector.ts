import type { Db, Tx } from '../plumbing/db.ts';
import { findConnectorRow, findConnectorRows, holdConnectorRow } from './store.ts';

/** For other slices: the connector's id, or null. */
export async function findConnectorId(db: Db, tenantId: string, ref: string): Promise<string | null> {
  return (await findConnectorRow(db, tenantId, ref))?.id ?? null;
}

/** The same, and it can not be deleted before this transaction ends. */
export async function holdConnector(tx: Tx, tenantId: string, ref: string): Promise<string | null> {
  return (await holdConnectorRow(tx, tenantId, ref))?.id ?? null;
}

/** What holders of grants may know of connectors, by name. */
export async function connectorsNamed(db: Db, tenantId: string, ids: readonly string[]) {
  const rows = await findConnectorRows(db, tenantId, ids);
  return rows.map(({ id, slug, name, kind, description }) => ({ id, slug, name, kind, description }));
}
