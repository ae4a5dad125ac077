import { runtimeConformance } from '../conformance-testing.ts';
import { portsConformance } from '../ports-testing.ts';
import { processWorld } from './testing.ts';

portsConformance('apps as processes', async () => processWorld());
runtimeConformance('apps as processes', async () => processWorld());
// An ordinary user never has them.
if (process.getuid?.() === 0)
  runtimeConformance('apps as processes, without control groups', async () =>
    processWorld({ controlGroups: 'none' }),
  );
