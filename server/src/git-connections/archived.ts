import { fail } from '../plumbing/problem.ts';

export const archived = () =>
  fail('app_not_active', {
    detail: 'The app is archived: its repository can be disconnected, and none be connected or changed.',
  });
