import { afterAll } from 'bun:test';
import { stopEverything } from './support/server.ts';

// Preloaded by bunfig.toml: after the last test of the run, nothing is left running and no folder is left behind.
afterAll(stopEverything);
