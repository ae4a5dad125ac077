/** For the slices that change something of an app and must be the only ones: false where it is not there. */
export { lockAppRow as lockApp } from './store.ts';
