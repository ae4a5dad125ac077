import { basename } from 'node:path';
import type { Client } from '@svc/contract/client.ts';
import type { Answer, Input } from '@svc/contract/endpoint.ts';
import type { listObjects as shape } from '@svc/contract/storage.shapes.ts';
import { listObjects, objectListLimitMax } from '@svc/contract/storage.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { resolveTenant } from '../session/tenant.ts';

export interface AppStorage {
  client: Client;
  params: { tenantID: string; app: string };
}

export async function openStorage(ctx: Ctx, app: string): Promise<AppStorage> {
  return { params: { tenantID: await resolveTenant(ctx), app }, client: await ctx.client() };
}

type Listing = Answer<typeof shape>;

export async function listObjectsResult(
  ctx: Ctx,
  { client, params }: AppStorage,
  { query, pages }: { query: Input<typeof shape>['query']; pages: 'one' | 'all' },
): Promise<Result> {
  const found: Listing = { items: [], prefixes: [], next_cursor: null };
  for (let cursor = query.cursor; ; ) {
    const page = await client.call(listObjects, { params, query: { ...query, cursor } });
    found.items.push(...page.items);
    found.prefixes.push(...page.prefixes);
    found.next_cursor = page.next_cursor;
    if (pages === 'one' || page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  const { format } = ctx.globals;
  if (format === 'json' || format === 'yaml') return { value: found };
  // Tables and JSON lines have a single list of objects and prefixes.
  const rows = [...found.items, ...found.prefixes.map((prefix) => ({ prefix, key: prefix }))];
  rows.sort((one, other) => (one.key < other.key ? -1 : 1));
  const items =
    format === 'table' ? rows : rows.map((row) => ('prefix' in row ? { prefix: row.prefix } : row));
  return { value: { items, next_cursor: found.next_cursor } };
}

export interface ListedObject {
  key: string;
  size: number;
}

export async function listAllObjects(
  { client, params }: AppStorage,
  prefix: string,
): Promise<ListedObject[]> {
  const found: ListedObject[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { prefix, limit: objectListLimitMax, cursor };
    const page = await client.call(listObjects, { params, query });
    found.push(...page.items);
    if (page.next_cursor === null) return found;
    cursor = page.next_cursor;
  }
}

export type Side = { kind: 'object'; key: string } | { kind: 'file'; path: string } | { kind: 'standard' };

export function parseSide(typed: string): Side {
  if (typed === '-') return { kind: 'standard' };
  return typed.startsWith(':') ? { kind: 'object', key: typed.slice(1) } : { kind: 'file', path: typed };
}

export function resolveKey(key: string, source: string): string {
  return key === '' || key.endsWith('/') ? `${key}${basename(source)}` : key;
}

export function folderPrefix(key: string): string {
  return key === '' || key.endsWith('/') ? key : `${key}/`;
}
