import { createHash } from 'node:crypto';
import type { StartJob } from '../runtime.ts';
import { type DockerDeps, filters, labelNames } from './docker-deps.ts';
import { EngineError } from './engine.ts';

/** The engine's machine, as containers see it. */
export const machineName = 'host.docker.internal';
export const extraHosts = [`${machineName}:host-gateway`];

export const installationHash = (installation: string) => shortHash(installation);
const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 6);

/** The firewall finds the bridges of an installation by it. Linux allows 15 characters for the whole name. */
export const bridgePrefix = (installation: string) => `svc${installationHash(installation)}`;

/** Of instances, of builds and of services of a Swarm. */
export const sharedBridges = (installation: string) =>
  ['a', 'b', 's'].map((end) => `${bridgePrefix(installation)}${end}`);

const bridgeName = 'com.docker.network.bridge.name';

const icc = 'com.docker.network.bridge.enable_icc';
type Purpose = 'apps' | 'builds';
/** An existing name, or the bridge of another network. */
const conflicts = [403, 409];
const readyMsMax = 10_000;

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
          [icc]: 'false',
          [bridgeName]: `${bridgePrefix(installation)}${purpose === 'apps' ? 'a' : 'b'}`,
        },
      },
    });
    return created.Id;
  } catch (error) {
    if (!(error instanceof EngineError) || !conflicts.includes(error.status)) throw error;
    // Somebody else creates it: the engine allows each bridge name once, but lists a network only when it is ready.
    for (const deadline = Date.now() + readyMsMax; ; await Bun.sleep(50)) {
      const other = await find();
      if (other !== undefined) return other;
      if (Date.now() > deadline) throw error;
    }
  }
}

/** The network of one compose app, whose services connect to each other. */
export const composeBridge = ({ installation }: DockerDeps, { instanceId }: StartJob) => ({
  [bridgeName]: `${bridgePrefix(installation)}${shortHash(instanceId)}`,
});

/**
 * A Swarm takes the options of a bridge only from a second network, which exists on one node. Instances run on that node.
 * A network of kind `overlay` has no bridge that the firewall could name.
 */
export async function ensureServicesNetwork({ engine, network, installation }: DockerDeps): Promise<string> {
  if (network !== null) return network;
  const name = `svc-${installationHash(installation)}-services`;
  const config = `${name}-config`;
  const options = { [icc]: 'false', [bridgeName]: `${bridgePrefix(installation)}s` };
  for (const body of [
    { Name: config, ConfigOnly: true, Options: options },
    { Name: name, Driver: 'bridge', Scope: 'swarm', ConfigFrom: { Network: config } },
  ])
    await engine
      .send('POST', '/networks/create', { body: { ...body, CheckDuplicate: true } })
      .catch((error: unknown) => {
        if (!(error instanceof EngineError && error.status === 409)) throw error;
      });
  return name;
}
