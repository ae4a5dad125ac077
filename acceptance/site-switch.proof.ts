import { siteSwitch } from './suites/site-switch.ts';

siteSwitch({ roundsCount: 6 });
