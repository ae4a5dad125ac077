import { createHash } from 'node:crypto';
import type { StartJob } from '../runtime.ts';
import type { DockerDeps } from './docker-deps.ts';
import { EngineError } from './engine.ts';
import { filters, instanceLabels, instanceName, labelNames } from './labels.ts';

/** The engine's machine, as containers see it. */
export const machineName = 'host.docker.internal';
export const extraHosts = [`${machineName}:host-gateway`];

export const installationHash = (installation: string) => shortHash(installation);
const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 6);

/** The firewall finds the bridges of an installation by it. Linux allows 15 characters for the whole name. */
export const bridgePrefix = (installation: string) => `svc${installationHash(installation)}`;

const bridgeName = 'com.docker.network.bridge.name';

type Purpose = 'apps' | 'builds';

/** Builds have a network of their own: a Dockerfile's commands may run as root, with more rights than instances. */
export async function ensureNetwork(
  { engine, network, installation }: Pick<DockerDeps, 'engine' | 'network' | 'installation'>,
  purpose: Purpose,
): Promise<string> {
  if (network !== null && purpose === 'apps') return network;
  const name = `svc-${installationHash(installation)}-${purpose}`;
  const find = async () => {
    const found = await engine.json<{ Id: string; Name: string }[]>('GET', '/networks', {
      query: filters({ name: [name], driver: ['bridge'] }),
    });
    return found.find(({ Name }) => Name === name)?.Id;
  };
  const existing = await find();
  if (existing !== undefined) return existing;
  try {
    const created = await engine.json<{ Id: string }>('POST', '/networks/create', {
      body: {
        Name: name,
        Driver: 'bridge',
        Labels: { [labelNames.installation]: installation },
        Options: {
          'com.docker.network.bridge.enable_icc': 'false',
          [bridgeName]: `${bridgePrefix(installation)}${purpose === 'apps' ? 'a' : 'b'}`,
        },
      },
    });
    return created.Id;
  } catch (error) {
    // Another server may have created it; the engine allows each bridge name once.
    const other = error instanceof EngineError ? await find() : undefined;
    if (other === undefined) throw error;
    return other;
  }
}

/** The network of one compose app, whose services connect to each other. */
export const composeBridge = ({ installation }: DockerDeps, { instanceId }: StartJob) => ({
  [bridgeName]: `${bridgePrefix(installation)}${shortHash(instanceId)}`,
});

/** Each Swarm service has its own network, because services in a shared network could connect to each other. */
export async function ensureServiceNetwork(deps: DockerDeps, job: StartJob): Promise<string> {
  if (deps.network !== null) return deps.network;
  const Name = instanceName(job.instanceId);
  try {
    await deps.engine.send('POST', '/networks/create', {
      body: {
        Name,
        Driver: 'overlay',
        CheckDuplicate: true,
        Labels: instanceLabels(deps, job, { service: 'app', port: null }),
      },
    });
  } catch (error) {
    if (!(error instanceof EngineError && error.status === 409)) throw error;
  }
  return Name;
}
