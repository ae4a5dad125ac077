import type { Column, View } from '../command.ts';

/** What fits a terminal of 80 columns; the rest is in `apps get` and in the other formats. */
const columns: readonly Column[] = [
  ...['slug', 'name', 'visibility'],
  { title: 'status', value: (app) => app.deployment_status },
  'summary',
];

export const appView: View = { columns };
/** With what one is to it. */
export const ownAppView: View = { columns: ['slug', 'name', 'relation', ...columns.slice(2)] };
