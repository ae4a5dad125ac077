import type { View } from '../command.ts';

export const memberView: View = { columns: ['user_id', 'email', 'name', 'role', 'status', 'since'] };
