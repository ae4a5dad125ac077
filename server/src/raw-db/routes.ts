import * as shapes from '@svc/contract/raw-db.shapes.ts';
import * as endpoints from '@svc/contract/raw-db.ts';
import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import { type Route, route } from '../plumbing/route.ts';
import { disableRawDb } from './disable-raw-db.ts';
import { enableRawDb } from './enable-raw-db.ts';
import { getRawDb } from './get-raw-db.ts';
import { rotateRawDb } from './rotate-raw-db.ts';

export const rawDbRoutes = ({ raw }: { raw: RawDatabases }): Route[] => [
  route(endpoints.getRawDb, shapes.getRawDb, (ctx) => getRawDb(ctx)),
  route(endpoints.enableRawDb, shapes.enableRawDb, (ctx) => enableRawDb(ctx, { raw })),
  route(endpoints.rotateRawDb, shapes.rotateRawDb, (ctx) => rotateRawDb(ctx)),
  route(endpoints.disableRawDb, shapes.disableRawDb, (ctx) => disableRawDb(ctx)),
];
