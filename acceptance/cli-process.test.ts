import { cliProcess } from './suites/cli-process.ts';

cliProcess({ nth: 27 });
