import * as shapes from '@svc/contract/git-host.shapes.ts';
import * as endpoints from '@svc/contract/git-host.ts';
import type { GitParts } from '../git-connections/git-parts.ts';
import { type Route, route } from '../plumbing/route.ts';
import { detectRepository } from './detect-repository.ts';

export const detectRoutes = (parts: GitParts): Route[] => [
  route(endpoints.detectRepository, shapes.detectRepository, (ctx, { query }) =>
    detectRepository(ctx, query, parts),
  ),
];
