import * as shapes from '@svc/contract/apps.shapes.ts';
import * as endpoints from '@svc/contract/apps.ts';
import { type Route, route } from '../plumbing/route.ts';
import { describeApp } from './describe-app.ts';

export function documentRoutes({ baseUrl }: { baseUrl: string }): Route[] {
  return [
    route(
      endpoints.getAppDocument,
      shapes.getAppDocument,
      (ctx, { params: { app } }) => describeApp(ctx, { app, baseUrl }),
      { etag: ({ info }) => `"${info.version}"` },
    ),
  ];
}
