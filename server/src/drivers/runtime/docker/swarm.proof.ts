import { describe } from 'bun:test';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { runtimeConformance } from '../conformance-testing.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { useDockerWorld } from './testing.ts';

describe.if(hasDockerEngine)('with a real Swarm', () => {
  const world = useDockerWorld('swarm');
  // Builds and commands run on the engine of the server, as without a Swarm.
  runtimeConformance('apps as services', world, { only: 'instances' });
  isolationConformance('apps as services, isolated', world);
});
