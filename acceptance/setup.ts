import { afterAll, setDefaultTimeout } from 'bun:test';
import { stopServers } from './support/server.ts';

// Preloaded by bunfig.toml. Many tests start servers and programs, which takes a while on a busy machine.
setDefaultTimeout(240_000);
afterAll(stopServers);
