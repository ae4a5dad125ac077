import { bootstrapCrash, crashSteps } from './suites/bootstrap-crash.ts';

bootstrapCrash({ steps: crashSteps, killsPerStep: 1 });
