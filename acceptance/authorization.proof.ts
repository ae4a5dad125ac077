import { authorization } from './suites/authorization.ts';

authorization({ executes: 'all', nth: 1 });
