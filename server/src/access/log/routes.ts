import * as shapes from '@svc/contract/access-log.shapes.ts';
import * as endpoints from '@svc/contract/access-log.ts';
import { type Route, routes } from '../../http/router.ts';
import { type AccessLog, listAccessLog } from './access-log.ts';

export function accessLogRoutes(accessLog: AccessLog): Route[] {
  return routes(endpoints, shapes, {
    listAccessLog: async (ctx, { query }) => {
      // What this process has recorded is listed. Entries of other processes follow within a second.
      await accessLog.flush();
      return listAccessLog(ctx, query);
    },
  });
}
