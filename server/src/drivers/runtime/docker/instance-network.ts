import type { StartJob } from '../runtime.ts';
import { EngineError } from './engine.ts';
import { instanceName, labelsOfInstance } from './labels.ts';
import type { Parts } from './parts.ts';

/** Of a service of a Swarm: without one of its own it would share the node's, where all reach one another past the edge. */
export async function instanceNetwork(parts: Parts, job: StartJob): Promise<string> {
  if (parts.network !== null) return parts.network;
  const Name = instanceName(job.instanceId);
  try {
    await parts.engine.tell('POST', '/networks/create', {
      body: {
        Name,
        Driver: 'overlay',
        CheckDuplicate: true,
        Labels: labelsOfInstance(parts, job, { service: 'app', port: null }),
      },
    });
  } catch (error) {
    // It is there: by a call before this one.
    if (!(error instanceof EngineError && error.status === 409)) throw error;
  }
  return Name;
}
