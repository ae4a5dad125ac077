import * as shapes from '@svc/contract/git-host.shapes.ts';
import * as endpoints from '@svc/contract/git-host.ts';
import { type Route, routes } from '../../http/router.ts';
import type { GitDeps } from '../git-connections/deps.ts';
import { detectRepository } from './detect-repository.ts';

export const detectRoutes = (parts: GitDeps): Route[] =>
  routes(endpoints, shapes, {
    detectRepository: (ctx, { query }) => detectRepository(ctx, query, parts),
  });
