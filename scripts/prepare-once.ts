import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { patientMs } from './patience.ts';

/**
 * A folder that takes long to create: one process of a run creates it, and all of them copy it. After a failure the next
 * process tries again.
 */
export async function prepareOnce(
  folder: string,
  create: (folder: string) => Promise<unknown>,
): Promise<string> {
  const [lock, unfinished] = [`${folder}.lock`, `${folder}.new`];
  try {
    mkdirSync(lock);
  } catch {
    const deadline = performance.now() + patientMs(220_000);
    while (!existsSync(folder) && existsSync(lock)) {
      if (performance.now() > deadline) throw new Error(`Another process has not created ${folder} in time.`);
      await Bun.sleep(20);
    }
    return existsSync(folder) ? folder : prepareOnce(folder, create);
  }
  try {
    await create(unfinished);
    renameSync(unfinished, folder);
    return folder;
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    rmSync(lock, { recursive: true });
    throw error;
  }
}

export async function copyFolder(from: string, to: string): Promise<void> {
  const child = Bun.spawn(['cp', '-a', '--reflink=auto', from, to], { stdin: 'ignore', stderr: 'pipe' });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`cp of ${from} ended with ${code}: ${errors}`);
}

/** The folder at `path`, copied from one that is created once where several processes share a run. */
export async function copyPrepared(
  path: string,
  name: string,
  create: (folder: string) => Promise<unknown>,
): Promise<void> {
  const shared = process.env.SVC_TEST_FOLDER;
  if (shared) await copyFolder(await prepareOnce(`${shared}/${name}`, create), path);
  else await create(path);
}
