import type { RuntimeWish } from '../runtime.ts';
import type { AppUsers } from './app-users.ts';

/** Why an app can not be built and run as processes; null: it can. */
export function reasonToRefuse(users: AppUsers, { method, plan }: RuntimeWish): string | null {
  if (method === 'compose')
    return 'This runtime runs processes, not containers, and can not run a compose app: that takes SVC_RUNTIME=docker.';
  if (method === 'docker' && !plan.startCommand?.trim())
    return plan.dockerfile
      ? 'This runtime builds no images from a Dockerfile: it needs a start command (svc.yaml), or SVC_RUNTIME=docker.'
      : 'No start command was given or found: name one in svc.yaml.';
  return users.obstacle();
}
