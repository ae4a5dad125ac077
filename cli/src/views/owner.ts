import type { View } from '../command.ts';

export const ownerView: View = { columns: ['user_id', 'email', 'name', 'role', 'since'] };
