import * as shapes from '@svc/contract/raw-db.shapes.ts';
import * as endpoints from '@svc/contract/raw-db.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { type Route, routes } from '../../http/router.ts';
import { disableRawDb, enableRawDb, getRawDb, rotateRawDb } from './raw-db.ts';

export const rawDbRoutes = ({ raw }: { raw: RawDatabases }): Route[] =>
  routes(endpoints, shapes, {
    getRawDb,
    enableRawDb: (ctx) => enableRawDb(ctx, { raw }),
    rotateRawDb,
    disableRawDb,
  });
