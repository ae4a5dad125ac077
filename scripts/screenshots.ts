import { finish, runTests } from './suites.ts';

// Pictures of the console's pages, to be looked at. `npm run screenshots -- logs` takes those whose name has the word.
process.env.SVC_SCREENS = process.argv.slice(2).join(' ');
finish([await runTests('screenshots', ['--timeout', '900000', './acceptance/console-screens.slow.ts'])]);
