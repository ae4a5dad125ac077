import { deploymentsCrash } from './suites/deployments-crash.ts';

deploymentsCrash({ rounds: 2 });
