import * as shapes from '@svc/contract/inspection.shapes.ts';
import * as endpoints from '@svc/contract/inspection.ts';
import { type Route, route, routes } from '../../http/router.ts';
import {
  getInspectionConsent,
  inspectApp,
  listInspections,
  requireConsent,
  setInspectionConsent,
} from './inspection.ts';

export const inspectionRoutes: Route[] = [
  ...routes(endpoints, shapes, {
    getInspectionConsent,
    setInspectionConsent: (ctx, { body }) =>
      setInspectionConsent(ctx, { to: body.granted ? 'granted' : 'revoked' }),
    listInspections: (ctx, { query }) => listInspections(ctx, query),
  }),
  route(endpoints.inspectApp, shapes.inspectApp, (ctx, { body }) => inspectApp(ctx, body), {
    beforeReplay: async (ctx) => void (await requireConsent(ctx)),
  }),
];
