import { describe } from 'bun:test';
import { needsDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { hasSwarm } from '../../../../../scripts/docker-swarm.ts';
import { runtimeConformance } from '../conformance.ts';
import { dockerWorld } from './testing.ts';

describe.skipIf(!hasSwarm && !needsDockerEngine)('with a Swarm and a registry', () => {
  runtimeConformance('apps on all nodes', () => dockerWorld('spread'));
});
