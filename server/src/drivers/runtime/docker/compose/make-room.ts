import type { StartJob } from '../../runtime.ts';
import { unlessGone } from '../engine.ts';
import type { ContainerSummary } from '../engine-shapes.ts';
import { labelled, labelNames } from '../labels.ts';
import type { Parts } from '../parts.ts';

const graceSeconds = 10;

/**
 * A volume is used by one deployment at a time: two databases on the same files would ruin them. So the former one is
 * stopped, and waits: if its successor is removed, it goes on.
 */
export async function makeRoom(parts: Parts, job: StartJob): Promise<void> {
  const others = (await containersOfApp(parts, job.appId)).filter(
    ({ Labels, State }) => Labels[labelNames.instance] !== job.instanceId && State === 'running',
  );
  if (others.length === 0) return;
  job.log(
    'platform',
    'It has volumes, which only one may use at a time: the former deployment is stopped first.',
  );
  // First nobody is led there any more: who comes meanwhile is told to come again, and does not meet a closed door.
  const instances = [...new Set(others.map(({ Labels }) => Labels[labelNames.instance] ?? ''))];
  const left = await Promise.all(instances.map((id) => parts.turns.leave(id)));
  try {
    await Promise.all(
      others.map(({ Id }) =>
        unlessGone(
          parts.engine.tell('POST', `/containers/${Id}/stop`, {
            query: { t: graceSeconds },
            timeoutMs: 60_000,
          }),
        ),
      ),
    );
  } finally {
    for (const over of left) over();
  }
}

/** Whether it is stopped only for the time that its successor takes. */
export async function hasMadeRoom(parts: Parts, { Labels }: ContainerSummary): Promise<boolean> {
  const app = Labels[labelNames.app];
  if (app === undefined || Labels['com.docker.compose.project'] === undefined) return false;
  const all = await containersOfApp(parts, app);
  return all.some((other) => isOfAnother(other, Labels));
}

/** Once an instance is gone: the one that waited for it, if no other is there, goes on. */
export async function goOnAfter(parts: Parts, removed: ContainerSummary[]): Promise<void> {
  const app = removed.find(({ Labels }) => 'com.docker.compose.project' in Labels)?.Labels[labelNames.app];
  if (app === undefined) return;
  // The newest first, as the engine names them.
  const left = await containersOfApp(parts, app);
  const newest = left[0]?.Labels[labelNames.instance];
  for (const { Id, State, Labels } of left.reverse())
    if (State === 'exited' && Labels[labelNames.instance] === newest)
      await unlessGone(parts.engine.tell('POST', `/containers/${Id}/start`));
}

const isOfAnother = (other: ContainerSummary, own: Record<string, string>) =>
  other.Labels[labelNames.instance] !== own[labelNames.instance];

const containersOfApp = (parts: Parts, appId: string) =>
  parts.engine.json<ContainerSummary[]>('GET', '/containers/json', {
    query: { all: 1, ...labelled(labelNames.app, appId) },
  });
