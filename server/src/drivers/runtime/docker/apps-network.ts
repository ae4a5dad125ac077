import { EngineError, unlessGone } from './engine.ts';
import type { Parts } from './parts.ts';

const ownName = 'svc-apps';

/**
 * What apps are attached to. In our own one none reaches another, which would go past the edge and its rights; the one
 * that the operator names is taken as it is.
 */
export async function appsNetwork({ engine, network }: Parts): Promise<string> {
  if (network !== null) return network;
  if (await unlessGone(engine.json('GET', `/networks/${ownName}`))) return ownName;
  try {
    await engine.tell('POST', '/networks/create', {
      body: {
        Name: ownName,
        Driver: 'bridge',
        CheckDuplicate: true,
        Options: { 'com.docker.network.bridge.enable_icc': 'false' },
      },
    });
  } catch (error) {
    // Another copy was quicker.
    if (!(error instanceof EngineError && error.status === 409)) throw error;
  }
  return ownName;
}
