import { describe } from 'bun:test';
import { needsDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { hasSwarm } from '../../../../../scripts/docker-swarm.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { dockerWorld } from './testing.ts';

describe.skipIf(!hasSwarm && !needsDockerEngine)('with a Swarm and a registry', () => {
  isolationConformance('apps on all nodes, isolated', () => dockerWorld('spread'));
});
