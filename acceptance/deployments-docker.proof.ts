import { deploymentsDocker } from './suites/deployments-docker.ts';

deploymentsDocker({ nth: 1 });
