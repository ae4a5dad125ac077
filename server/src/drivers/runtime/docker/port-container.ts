import { join } from 'node:path';
import { projectRoot } from '../../../core/project-root.ts';
import { splitLines } from '../process/output.ts';
import type { LogSink } from '../runtime.ts';
import type { DockerDeps } from './docker-deps.ts';
import { type ContainerDetail, EngineError, ignoreMissing, readFrames } from './engine.ts';
import { labelNames } from './labels.ts';

type Deps = Pick<DockerDeps, 'engine' | 'installation' | 'baseImage'>;

export interface Ports {
  inner: number;
  published: number;
  forward: number;
}

export const helperName = (instanceId: string) => `svc-port-${instanceId}`;
/** When the container started whose network the helper shares. */
export const startLabel = 'svc.started_at';

let bundled: Promise<string> | null = null;

/** The search is the same as for apps without containers. */
function helperScript(): Promise<string> {
  bundled ??= Bun.build({
    entrypoints: [join(projectRoot, 'server/src/drivers/runtime/docker/port-helper.ts')],
    target: 'node',
    format: 'esm',
    minify: { whitespace: true, syntax: true },
  }).then(({ outputs: [output] }) => output?.text() ?? '');
  return bundled;
}

export async function startHelper(
  { engine, installation, baseImage }: Deps,
  instanceId: string,
  { Id, State }: ContainerDetail,
  { inner, forward }: Ports,
): Promise<void> {
  const memory = 96 * 1024 * 1024;
  const script = await helperScript();
  await engine.send('POST', '/containers/create', {
    query: { name: helperName(instanceId) },
    body: {
      Image: baseImage,
      Entrypoint: [],
      Cmd: ['node', '--input-type=module', '-e', script, '--', String(inner), String(forward)],
      User: '65534:65534',
      Labels: {
        [labelNames.installation]: installation,
        [labelNames.helper]: instanceId,
        [startLabel]: State.StartedAt,
      },
      HostConfig: {
        NetworkMode: `container:${Id}`,
        Init: true,
        ReadonlyRootfs: true,
        Memory: memory,
        MemorySwap: memory,
        PidsLimit: 32,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      },
    },
  });
  await engine.send('POST', `/containers/${helperName(instanceId)}/start`);
}

export const removeHelper = async ({ engine }: Pick<Deps, 'engine'>, instanceId: string) =>
  void (await ignoreMissing(
    engine.send('DELETE', `/containers/${helperName(instanceId)}`, { query: { force: 1, v: 1 } }),
  ));

interface Found {
  isForwarded: boolean;
  unreachable?: string;
}

const lineBytesMax = 16 * 1024;

/** Until the helper ends, which it does by itself when the app listens on PORT. Resolves to whether it does. */
export async function followHelper(
  { engine }: Pick<Deps, 'engine'>,
  name: string,
  options: {
    signal: AbortSignal;
    /** It has written lines that are in the log of the app. */
    isKnown: boolean;
    log: LogSink;
    onFound(found: Found): boolean;
  },
): Promise<boolean> {
  const path = `/containers/${name}/logs`;
  let known = 0;
  let isOwn = false;
  const { signal } = options;
  const read = async (follow: number, onLine: (line: string) => void) => {
    const { body } = await engine.stream('GET', path, { query: { stdout: 1, follow }, signal });
    const lines = splitLines({ lineBytesMax, onLine });
    for await (const { bytes } of readFrames(body as unknown as AsyncIterable<Uint8Array>)) lines.take(bytes);
  };
  try {
    if (options.isKnown) await read(0, () => void known++);
    await read(1, (line) => {
      const { log, found } = JSON.parse(line) as { log?: string; found?: Found };
      if (log !== undefined && known <= 0) options.log('platform', log);
      known--;
      if (found) isOwn = options.onFound(found);
    });
  } catch (error) {
    if (!signal.aborted && !(error instanceof EngineError)) throw error;
  }
  return isOwn;
}
