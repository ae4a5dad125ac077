import type { View } from '../command.ts';

export const templateView: View = {
  columns: ['id', 'alias', 'name', 'framework', 'deploy_method', 'built_in', 'description'],
};
