import { describe } from 'bun:test';
import { hasDockerEngine, needsDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { isolationConformance } from '../conformance-isolation.ts';
import { dockerWorld } from './testing.ts';

describe.skipIf(!hasDockerEngine && !needsDockerEngine)('with a real engine', () => {
  isolationConformance('apps as containers', () => dockerWorld('single'));
});
