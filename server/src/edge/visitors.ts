import type { EdgeAnswer, EdgeAnswering, EdgeRequest } from '../plumbing/edge-request.ts';

export interface VisitedSite {
  appId: string;
  tenantId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/**
 * Who looks at a site that is not open to everybody. `null` stands for a host below the apps domain that no app has:
 * whoever may see nothing there is treated alike, so that names can not be tried.
 */
export interface Visitors {
  /** Whether the site reaches whoever asks; not a promise where that is known already. */
  visitorAt(site: VisitedSite, request: EdgeRequest): boolean | Promise<boolean>;
  /** Of an app that answers by itself: whose visit it is; null: nobody's whom it is shown to. */
  userAt(site: VisitedSite, request: EdgeRequest): Promise<string | null>;
  /** To the sign-in, or a refusal of what is no page. The same for a site that is there and for `null`. */
  turnAway(site: VisitedSite | null, request: EdgeRequest): EdgeAnswer;
  /** Answers what is below `/.svc/`, also of open sites, whatever the method; null where there is no such path. */
  platformPath(site: VisitedSite | null, request: EdgeRequest): EdgeAnswering | null;
}
