import { goOnAfter } from './compose/make-room.ts';
import { unlessGone } from './engine.ts';
import { containersOf, servicesOf } from './instances.ts';
import { filters, instanceName, labelNames } from './labels.ts';
import type { Parts } from './parts.ts';

const goneMsMax = 30_000;

/**
 * Asks everything of the instance to end, lets `afterEnd` hear its last words, then removes it. A Swarm's containers
 * are asked first too: it would remove them before they were heard.
 */
export async function removeInstance(
  parts: Parts,
  instanceId: string,
  options: { graceMs: number; afterEnd: () => Promise<void> },
): Promise<void> {
  const { engine } = parts;
  const t = Math.max(1, Math.ceil(options.graceMs / 1_000));
  const containers = await containersOf(engine, instanceId);
  await Promise.all(
    containers.map(({ Id }) =>
      unlessGone(
        engine.tell('POST', `/containers/${Id}/stop`, { query: { t }, timeoutMs: t * 1_000 + goneMsMax }),
      ),
    ),
  );
  await options.afterEnd();
  for (const { ID } of await servicesOf(parts, instanceId))
    await unlessGone(engine.tell('DELETE', `/services/${ID}`));
  const deadline = Date.now() + goneMsMax;
  for (;;) {
    const left = await containersOf(engine, instanceId);
    if (left.length === 0) break;
    for (const { Id } of left)
      await unlessGone(engine.tell('DELETE', `/containers/${Id}`, { query: { force: 1, v: 1 } })).catch(
        (error: unknown) => {
          // Another is at it.
          if (Date.now() > deadline) throw error;
        },
      );
    if (Date.now() > deadline) throw new Error(`Instance ${instanceId} could not be removed.`);
    await Bun.sleep(20);
  }
  await removeNetworks(parts, instanceId);
  await goOnAfter(parts, containers);
}

/** Those that compose, a stack, or we have made for it. */
async function removeNetworks({ engine }: Parts, instanceId: string): Promise<void> {
  const project = instanceName(instanceId);
  for (const label of [
    `com.docker.compose.project=${project}`,
    `com.docker.stack.namespace=${project}`,
    `${labelNames.instance}=${instanceId}`,
  ]) {
    const query = filters({ label: [label] });
    const deadline = Date.now() + goneMsMax;
    for (;;) {
      const left = await engine.json<{ Id: string }[]>('GET', '/networks', { query });
      if (left.length === 0) break;
      // A Swarm takes its tasks off a network a little later than it ends them.
      for (const { Id } of left)
        await unlessGone(engine.tell('DELETE', `/networks/${Id}`)).catch((error: unknown) => {
          if (Date.now() > deadline) throw error;
        });
      await Bun.sleep(50);
    }
  }
}
