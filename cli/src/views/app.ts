import type { Column, View } from '../command.ts';

const columns: readonly Column[] = [
  ...['slug', 'name', 'summary', 'visibility', 'deployment_status', 'operating_status', 'id'],
];

export const appView: View = { columns };
/** With what one is to it. */
export const ownAppView: View = { columns: ['slug', 'name', 'relation', ...columns.slice(2)] };
