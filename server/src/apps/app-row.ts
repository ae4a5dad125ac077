/** An app as it is kept, for the slices that deploy and connect it: to look at, and to hold against others. */
export { type AppRow, findAppRow as keptApp, lockAppRow as lockApp } from './store.ts';
