import type { DockerOptions } from './docker-runtime.ts';
import { createEngine, EngineError, unlessGone } from './engine.ts';
import type { EngineInfo } from './engine-shapes.ts';

export const swarmRefused =
  'The engine is a Swarm. There ports of apps are open on all addresses of the node, past all rights that the edge checks: set SVC_DOCKER_SWARM=trusted-network where a firewall keeps everybody but the server from them, or use an engine that is no Swarm.';

/** For the operator: whether the engine is there, and what holds apps to their limits. Changes nothing. */
export async function checkEngine({
  host,
  baseImage,
  swarm,
}: DockerOptions): Promise<{ ok: boolean; detail: string }> {
  const engine = createEngine(host);
  try {
    const info = await engine.json<EngineInfo>('GET', '/info');
    if (info.OSType !== 'linux')
      return { ok: false, detail: `The engine runs ${info.OSType}; apps need Linux.` };
    const isSwarm = info.Swarm.LocalNodeState === 'active' && info.Swarm.ControlAvailable;
    const said = [`Docker ${info.ServerVersion} at ${host}${isSwarm ? ', a Swarm: apps are services' : ''}.`];
    if (isSwarm && swarm === 'refused') return { ok: false, detail: swarmRefused };
    if (isSwarm)
      said.push('Their ports are open on all of its addresses: keep 20000-60000 from outside by a firewall.');
    if (!info.MemoryLimit) said.push('It can not limit memory.');
    if (!info.PidsLimit) said.push('It can not limit the number of processes.');
    if (!(await unlessGone(engine.json('GET', `/images/${baseImage}/json`))))
      said.push(`${baseImage} (SVC_DOCKER_BASE_IMAGE) is not there yet: it is fetched at the first build.`);
    return { ok: true, detail: said.join(' ') };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { ok: false, detail: error.message };
  }
}
