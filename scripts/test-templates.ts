import { finish, runTests } from './suites.ts';

// The built-in templates, from nothing to a running app: slow, as they are downloaded and built for real.
finish([await runTests('templates', ['--timeout', '900000', './acceptance/templates.slow.ts'])]);
