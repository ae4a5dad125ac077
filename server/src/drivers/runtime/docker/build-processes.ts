import { filters } from './docker-deps.ts';
import { type ContainerDetail, type Engine, ignoreMissing, readMessages } from './engine.ts';

/**
 * Image builds have no limit of processes in the engine's interface, but running containers can be given one: each step's gets
 * it as soon as it starts. Resolves when the engine reports starts.
 */
export async function limitBuildProcesses(
  engine: Engine,
  options: { processesMax: number; isOwn: (step: ContainerDetail) => boolean },
): Promise<{ stop(): void }> {
  const stopping = new AbortController();
  const query = filters({ type: ['container'], event: ['start'] });
  const answer = await engine.stream('GET', '/events', { query, signal: stopping.signal });
  const limit = async (id: string) => {
    const step = await ignoreMissing(engine.json<ContainerDetail>('GET', `/containers/${id}/json`));
    if (step && options.isOwn(step))
      await engine.send('POST', `/containers/${id}/update`, { body: { PidsLimit: options.processesMax } });
  };
  const follow = async () => {
    // A step may have ended, and other containers may be removed meanwhile.
    for await (const { Actor } of readMessages<{ Actor: { ID: string } }>(answer))
      void limit(Actor.ID).catch(() => {});
  };
  void follow().catch(() => {});
  return { stop: () => stopping.abort() };
}
