import * as shapes from '@svc/contract/identity.shapes.ts';
import * as endpoints from '@svc/contract/identity.ts';
import { ownRead, type Route } from '../plumbing/route.ts';
import { getMe } from './get-me.ts';

export const meRoutes: Route[] = [ownRead(endpoints.getMe, shapes.getMe, (ctx) => getMe(ctx))];
