import type { View } from '../command.ts';

export const transferView: View = {
  columns: ['app_id', 'owner.email', 'previous_owner.email'],
  fields: [
    'app_id',
    'owner.user_id',
    'owner.email',
    'previous_owner.user_id',
    'previous_owner.email',
    'previous_owner.role',
    'owner.since',
  ],
};
