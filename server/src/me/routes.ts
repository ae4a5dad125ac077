import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { type Route, route } from '../plumbing/route.ts';
import { getMe } from './get-me.ts';

export const meRoutes: Route[] = [route(endpoints.getMe, shapes.getMe, (ctx) => getMe(ctx))];
