import { freePort } from '../process/free-port.ts';
import type { StartJob } from '../runtime.ts';
import type { ImageArtifact } from './artifacts.ts';
import { EngineError } from './engine.ts';
import type { ServiceSummary } from './engine-shapes.ts';
import { instanceNetwork } from './instance-network.ts';
import { instanceName, labelNames, labelsOfInstance } from './labels.ts';
import type { Parts } from './parts.ts';
import { environmentOf, pidsMax } from './start-container.ts';

const second = 1e9;
const restartsMax = 10;

/**
 * In a Swarm: a service of one task. Its port is opened on the node itself (`mode=host`): the Swarm's own mesh does not
 * work on every kernel, and would lead through another hop.
 */
export async function startService(parts: Parts, job: StartJob, artifact: ImageArtifact): Promise<number> {
  const { engine } = parts;
  // Swarm only says later that an image is missing, and goes on trying.
  await engine.json('GET', `/images/${artifact.imageId}/json`);
  const port = await freePort(() => false);
  const network = await instanceNetwork(parts, job);
  try {
    const body = specOf(parts, job, { artifact, port, network });
    await engine.tell('POST', '/services/create', { body, upTo: '1.44' });
    return port;
  } catch (error) {
    if (!(error instanceof EngineError && error.status === 409)) throw error;
    const name = instanceName(job.instanceId);
    const { Spec } = await engine.json<ServiceSummary>('GET', `/services/${name}`);
    return Number(Spec.Labels[labelNames.port]);
  }
}

function specOf(
  parts: Parts,
  job: StartJob,
  { artifact, port, network }: { artifact: ImageArtifact; port: number; network: string },
) {
  const { run, image } = artifact;
  const labels = labelsOfInstance(parts, job, { service: 'app', port });
  return {
    Name: instanceName(job.instanceId),
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: {
        Image: image,
        Env: environmentOf(job.env, artifact.port),
        Labels: labels,
        ...(run ? { Command: ['/bin/sh', '-c', run.command], Dir: run.dir, User: run.user } : {}),
        Init: true,
        CapabilityDrop: ['ALL'],
        // Known to engines from 25 on; without capabilities little is left that could be gained.
        Privileges: { NoNewPrivileges: true },
        StopGracePeriod: 10 * second,
      },
      Resources: {
        Limits: {
          MemoryBytes: job.limits.memoryMb * 1024 * 1024,
          NanoCPUs: Math.round(job.limits.cpu * 1e9),
          Pids: pidsMax,
        },
      },
      RestartPolicy: { Condition: 'on-failure', Delay: second, MaxAttempts: restartsMax },
      Networks: [{ Target: network }],
      // What was built is there and nowhere else.
      Placement: { Constraints: [`node.id==${parts.swarmNode}`] },
      LogDriver: { Name: 'json-file', Options: { 'max-size': '10m', 'max-file': '2' } },
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: { Parallelism: 1, Order: 'start-first', FailureAction: 'rollback' },
    EndpointSpec: {
      Mode: 'vip',
      Ports: [{ Protocol: 'tcp', TargetPort: artifact.port, PublishedPort: port, PublishMode: 'host' }],
    },
  };
}
