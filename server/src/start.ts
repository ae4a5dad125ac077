import { findProgram } from './supervisor/bundle.ts';

// If npm or the terminal is killed, no signal arrives: watch for the loss of the parent process.
const parent = process.ppid;
const watch = setInterval(() => {
  if (process.ppid === parent) return;
  // Once: a second signal would end the server without waiting for its requests.
  clearInterval(watch);
  process.kill(process.pid, 'SIGTERM');
}, 1_000);
watch.unref();

// `npm start`. Loads nothing else, so that the supervisor comes from the bundle.
await import(findProgram('supervise.ts'));
