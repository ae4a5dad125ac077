import type { Db } from '../plumbing/db.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { enterSite } from './enter-site.ts';
import { leaveSite } from './leave-site.ts';
import { sitePaths } from './site-paths.ts';
import type { VisitPlaces } from './site-target.ts';

export interface PlatformPathParts extends VisitPlaces {
  db: Db;
  now: () => Date;
  /** Told what has ended: this copy of the server need not wait to hear of it. */
  onCommitted?: (tag: string) => void;
}

export function answerPlatformPath(
  parts: PlatformPathParts,
  request: EdgeRequest,
): Promise<EdgeAnswer> | null {
  if (request.path === sitePaths.auth) return enterSite(parts, request);
  return request.path === sitePaths.logout ? leaveSite(parts, request) : null;
}
