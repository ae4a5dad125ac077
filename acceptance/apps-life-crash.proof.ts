import { appsLifeCrash } from './suites/apps-life-crash.ts';

appsLifeCrash({ killsCount: 8 });
