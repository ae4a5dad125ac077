import type { BuildJob, Built } from '../runtime.ts';
import { buildFromDetection } from './build-from-detection.ts';
import { unlessGone } from './engine.ts';
import { imageName } from './labels.ts';
import type { Parts } from './parts.ts';
import { createBuildContainer, runCommands } from './run-commands.ts';
import { takeFiles } from './take-files.ts';

/** The source becomes an image, the commands run in a container of it, and the files are copied out of that. */
export async function buildSite(parts: Parts, job: BuildJob): Promise<Built> {
  const { engine } = parts;
  const image = imageName(parts, job);
  const { installCommand, buildCommand } = job.plan;
  const commands = [installCommand, buildCommand].filter((command) => command !== null);
  const mark = crypto.randomUUID();
  let container: string | null = null;
  try {
    const plan = { ...job.plan, installCommand: null, buildCommand: null };
    const imageId = await buildFromDetection(parts, { ...job, plan }, image);
    container = await createBuildContainer(parts, job, { imageId, commands, mark });
    if (commands.length > 0) await runCommands(parts, job, { container, commands, mark });
    return { artifact: {}, ...(await takeFiles(parts, job, container)) };
  } finally {
    const gone = { query: { force: 1, v: 1 } };
    if (container !== null) await unlessGone(engine.tell('DELETE', `/containers/${container}`, gone));
    await unlessGone(engine.tell('DELETE', `/images/${image}`, { query: { force: 1 } }));
  }
}
