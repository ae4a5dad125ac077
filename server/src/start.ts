import { findProgram } from './supervisor/bundle.ts';

// `npm start`. Loads nothing else, so that the supervisor comes from the bundle.
await import(findProgram('supervise.ts'));
