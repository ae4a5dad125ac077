import { authorization } from './suites/authorization.ts';

authorization({ executes: 'first', nth: 12 });
