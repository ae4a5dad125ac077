import { gitHostConformance } from './conformance.ts';
import { githubWorld } from './testing/github-world.ts';

gitHostConformance('a host that speaks as GitHub is documented to', githubWorld);
