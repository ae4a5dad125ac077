import type { AppView } from '../use-app.ts';
import { whyNotInUse } from '../why-not-active.ts';

type Facts = Pick<AppView, 'record' | 'runtime' | 'deployment_status' | 'visibility'>;

/** Why no request to publish can be made now, with what to do first; null when one can. The server has the last word. */
export function whyNotPublish(
  app: Facts,
  { hasOpen, hasStaged }: { hasOpen: boolean; hasStaged: boolean },
): string | null {
  const notInUse = whyNotInUse(app);
  if (notInUse !== null) return notInUse;
  if (app.visibility === 'internet') return 'Everybody sees it already.';
  if (hasOpen) return 'A request waits for its review; withdraw it first.';
  if (app.deployment_status === 'draft' && !hasStaged)
    return 'Nothing is deployed yet; deploy the app first.';
  return null;
}
