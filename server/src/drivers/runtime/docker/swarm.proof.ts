import { describe } from 'bun:test';
import { hasDockerEngine, needsDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { runtimeConformance } from '../conformance.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { dockerWorld } from './testing.ts';

describe.skipIf(!hasDockerEngine && !needsDockerEngine)('with a real Swarm', () => {
  runtimeConformance('apps as services', () => dockerWorld('swarm'));
  isolationConformance('apps as services, isolated', () => dockerWorld('swarm'));
});
