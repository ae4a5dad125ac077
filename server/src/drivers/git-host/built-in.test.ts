import { gitHostConformance } from './conformance.ts';
import { builtInWorld } from './testing/built-in-world.ts';

gitHostConformance('the built-in host', builtInWorld);
