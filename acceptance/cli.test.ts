import { cliSuite } from './suites/cli.ts';

cliSuite({ nth: 9 });
