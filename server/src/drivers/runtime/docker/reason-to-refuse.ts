import type { RuntimeWish } from '../runtime.ts';
import type { Parts } from './parts.ts';

/** Why an app can not be built and run by this engine; null: it can. */
export function reasonToRefuse(
  { composeTool, swarmNode }: Pick<Parts, 'composeTool' | 'swarmNode'>,
  { method, plan }: RuntimeWish,
): string | null {
  if (method === 'compose') {
    if (composeTool === null)
      return swarmNode === null
        ? 'No compose tool was found beside the server: install docker-compose, or the compose plugin of docker.'
        : 'The docker command was not found beside the server, by which a Swarm is given compose apps: install it.';
    return plan.composeFile === null ? 'The source has no compose file.' : null;
  }
  if (method === 'docker' && plan.dockerfile === null && !plan.startCommand?.trim())
    return 'No Dockerfile was found, and no start command was given or found: add one, or name the command in svc.yaml.';
  return null;
}
