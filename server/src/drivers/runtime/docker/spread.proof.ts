import { describe } from 'bun:test';
import { hasSwarm } from '../../../../../scripts/docker-swarm.ts';
import { runtimeConformance } from '../conformance-testing.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { useDockerWorld } from './testing.ts';

describe.if(hasSwarm)('with a Swarm and a registry', () => {
  const world = useDockerWorld('spread');
  runtimeConformance('apps on all nodes', world);
  isolationConformance('apps on all nodes, isolated', world);
});
