import { describe, expect, test } from 'bun:test';
import { hasDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { runtimeConformance } from '../conformance-testing.ts';
import { isolationConformance } from '../isolation-testing.ts';
import { peerAddresses } from '../network-testing.ts';
import { createEngine, EngineError } from './engine.ts';
import { attackWithoutEngineRules, useDockerWorld } from './testing.ts';

describe.if(hasDockerEngine)('with a real Swarm', () => {
  const world = useDockerWorld('swarm');
  // Builds and commands run on the engine of the server, as without a Swarm.
  runtimeConformance('apps as services', world, { only: 'instances' });
  isolationConformance('apps as services, isolated', world);

  test('apps and builds are kept apart also while the engine replaces its own rules', async () => {
    const open = `reached ${peerAddresses.public}:80`;
    expect(await attackWithoutEngineRules(await world())).toEqual([open, open]);
  });

  test('of many that create one name at the same time, one does, and the others learn that it exists', async () => {
    const engine = createEngine((await world()).engine.host);
    for (let round = 0; round < 5; round++) {
      const body = { Name: `network-${round}`, Driver: 'overlay', CheckDuplicate: true };
      const create = () =>
        engine.send('POST', '/networks/create', { body }).then(
          () => 201,
          (error: unknown) => (error instanceof EngineError ? error.status : String(error)),
        );
      const answers = await Promise.all(Array.from({ length: 12 }, create));
      expect(answers.sort()).toEqual([201, ...Array(11).fill(409)]);
      await engine.send('DELETE', `/networks/${body.Name}`);
    }
  });
});
