import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '../../../database/run-program.ts';
import { freePort } from '../../process/free-port.ts';
import type { StartJob } from '../../runtime.ts';
import type { ComposeArtifact } from '../artifacts.ts';
import { containersOf, isMain } from '../instances.ts';
import { instanceName, labelNames } from '../labels.ts';
import type { Parts } from '../parts.ts';
import { removeInstance } from '../remove-instance.ts';
import { composeFileOf } from './compose-file.ts';
import { makeRoom } from './make-room.ts';

export const servicesIn = ({ app }: ComposeArtifact) => Object.keys(app.services);

/** By the compose tool, or in a Swarm as a stack. The published port. */
export async function startCompose(parts: Parts, job: StartJob, artifact: ComposeArtifact): Promise<number> {
  const there = (await containersOf(parts.engine, job.instanceId)).find(isMain);
  if (there) return Number(there.Labels[labelNames.port]);
  if (artifact.app.volumes.length > 0) await makeRoom(parts, job);
  const port = await freePort(() => false);
  const folder = await mkdtemp(join(parts.scratchDir, 'compose-'));
  try {
    const file = join(folder, 'compose.json');
    await writeFile(file, JSON.stringify(composeFileOf(parts, job, { artifact, port })), { mode: 0o600 });
    await runTool(parts, job, { file, folder });
    return port;
  } catch (error) {
    await removeInstance(parts, job.instanceId, { graceMs: 0, afterEnd: async () => {} }).catch(() => {});
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runTool(
  { engine, path, composeTool, swarmNode }: Parts,
  job: StartJob,
  { file, folder }: { file: string; folder: string },
): Promise<void> {
  const [program = '', ...words] = composeTool ?? [];
  const name = instanceName(job.instanceId);
  const args =
    swarmNode === null
      ? [
          '--project-name',
          name,
          '--file',
          file,
          '--project-directory',
          folder,
          'up',
          '--detach',
          '--no-build',
        ]
      : ['stack', 'deploy', '--resolve-image', 'never', '--compose-file', file, name];
  const { status, said } = await runProgram(program, [...words, ...args], {
    cwd: folder,
    // It may pull images, which takes as long as it takes.
    ...(job.signal && { signal: job.signal }),
    // Nothing of the server's own, of which the tool would put values into the file.
    env: { PATH: path, HOME: folder, DOCKER_HOST: engine.host, LC_ALL: 'C.UTF-8' },
  });
  if (status !== 0)
    throw new Error(
      `The compose app could not be started: ${said.split('\n').slice(-8).join(' ').slice(-1_500)}`,
    );
}
