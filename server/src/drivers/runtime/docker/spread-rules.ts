import type { DockerDeps } from './docker-deps.ts';
import { type Engine, EngineError, ignoreMissing, type NodeSummary } from './engine.ts';
import { labelNames } from './labels.ts';
import { isReady, listNodes, listServiceTasks, nodeLabel } from './spread.ts';

const taskMsMax = 45_000;

/** Runs the command on every node, and marks the nodes where it succeeded. Returns their ids. */
export async function runOnNodes(
  { engine, installation, baseImage }: Pick<DockerDeps, 'engine' | 'installation' | 'baseImage'>,
  { command, signal }: { command: readonly string[]; signal: AbortSignal },
): Promise<string[]> {
  const { ID } = await engine.json<{ ID: string }>('POST', '/services/create', {
    upTo: '1.44',
    signal,
    body: {
      Name: `svc-rules-${crypto.randomUUID()}`,
      Labels: { [labelNames.installation]: installation },
      TaskTemplate: {
        ContainerSpec: {
          Image: baseImage,
          Command: command,
          User: '0:0',
          Mounts: [{ Type: 'bind', Source: '/', Target: '/machine' }],
          CapabilityDrop: ['ALL'],
          CapabilityAdd: ['CAP_NET_ADMIN', 'CAP_NET_RAW', 'CAP_SYS_CHROOT'],
          Privileges: { SELinuxContext: { Disable: true } },
        },
        RestartPolicy: { Condition: 'none' },
        Networks: [{ Target: 'host' }],
      },
      Mode: { GlobalJob: {} },
    },
  });
  try {
    const succeeded = await waitForNodes(engine, ID, signal);
    for (const node of succeeded) await markNode(engine, node, nodeLabel(installation));
    return succeeded.map((node) => node.ID);
  } finally {
    await ignoreMissing(engine.send('DELETE', `/services/${ID}`));
  }
}

async function waitForNodes(engine: Engine, service: string, signal: AbortSignal): Promise<NodeSummary[]> {
  for (const deadline = Date.now() + taskMsMax; ; await Bun.sleep(100)) {
    signal.throwIfAborted();
    const nodes = (await listNodes(engine)).filter(isReady);
    const tasks = await listServiceTasks(engine, service);
    const stateOf = (node: NodeSummary) => tasks.find(({ NodeID }) => NodeID === node.ID)?.Status;
    const failed = nodes.map(stateOf).find((status) => ['failed', 'rejected'].includes(status?.State ?? ''));
    if (failed) throw new EngineError(0, `On a node of the Swarm: ${failed.Err ?? failed.State}`);
    const succeeded = nodes.filter((node) => stateOf(node)?.State === 'complete');
    if (succeeded.length === nodes.length && nodes.length > 0) return succeeded;
    if (Date.now() < deadline) continue;
    if (succeeded.length > 0) return succeeded;
    throw new EngineError(0, 'No node of the Swarm has set them in time.');
  }
}

async function markNode(engine: Engine, { ID }: NodeSummary, label: string): Promise<void> {
  const { Version, Spec } = await engine.json<NodeSummary>('GET', `/nodes/${ID}`);
  if (Spec.Labels?.[label] === 'ready') return;
  const body = { ...Spec, Labels: { ...Spec.Labels, [label]: 'ready' } };
  await engine.send('POST', `/nodes/${ID}/update`, { query: { version: Version.Index }, body });
}
