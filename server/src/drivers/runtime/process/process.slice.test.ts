import { setDefaultTimeout } from 'bun:test';
import { runtimeConformance } from '../conformance.ts';
import { processWorld } from './testing.ts';

setDefaultTimeout(60_000);

runtimeConformance('apps as processes', async () => processWorld());
runtimeConformance('apps as processes, without control groups', async () =>
  processWorld({ controlGroups: 'none' }),
);
