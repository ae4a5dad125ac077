import * as shapes from '@svc/contract/inspection.shapes.ts';
import * as endpoints from '@svc/contract/inspection.ts';
import { type Route, route } from '../plumbing/route.ts';
import { getInspectionConsent } from './get-inspection-consent.ts';
import { inspectApp, requireConsent } from './inspect-app.ts';
import { listInspections } from './list-inspections.ts';
import { setInspectionConsent } from './set-inspection-consent.ts';

export const inspectionRoutes: Route[] = [
  route(endpoints.getInspectionConsent, shapes.getInspectionConsent, (ctx) => getInspectionConsent(ctx)),
  route(endpoints.setInspectionConsent, shapes.setInspectionConsent, (ctx, { body }) =>
    setInspectionConsent(ctx, { to: body.granted ? 'granted' : 'revoked' }),
  ),
  route(endpoints.listInspections, shapes.listInspections, (ctx, { query }) => listInspections(ctx, query)),
  route(endpoints.inspectApp, shapes.inspectApp, (ctx, { body }) => inspectApp(ctx, body), {
    // A lost answer may be asked for again as long as the consent stands.
    beforeReplay: async (ctx) => void (await requireConsent(ctx)),
  }),
];
