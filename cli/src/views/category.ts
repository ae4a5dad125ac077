import type { View } from '../command.ts';

export const categoryView: View = {
  columns: ['id', 'slug', 'name', 'display_order', 'color', 'description'],
};
