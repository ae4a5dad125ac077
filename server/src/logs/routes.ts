import * as shapes from '@svc/contract/deployments.shapes.ts';
import * as endpoints from '@svc/contract/deployments.ts';
import { type Route, route } from '../plumbing/route.ts';
import { readAppLog } from './read-app-log.ts';
import { type LogParts, readBuildLog } from './read-build-log.ts';

export const logRoutes = (parts: LogParts): Route[] => [
  route(endpoints.readBuildLog, shapes.readBuildLog, (ctx, { params, query }) =>
    readBuildLog(ctx, { id: params.deployment, query }, parts),
  ),
  route(endpoints.readAppLog, shapes.readAppLog, (ctx, { query }) => readAppLog(ctx, query, parts)),
];
