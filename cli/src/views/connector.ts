import type { View } from '../command.ts';

export const connectorView: View = { columns: ['id', 'slug', 'name', 'kind', 'description'] };
