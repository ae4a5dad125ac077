import { runtimeConformance } from '../conformance.ts';
import { processWorld } from './testing.ts';

runtimeConformance('apps as processes', async () => processWorld());
runtimeConformance('apps as processes, without control groups', async () =>
  processWorld({ controlGroups: 'none' }),
);
