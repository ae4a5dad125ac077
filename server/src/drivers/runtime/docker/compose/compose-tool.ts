import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runProgram } from '../../../database/run-program.ts';

/** What compose apps are run by: the program and its first words. In a Swarm that is docker itself. */
export async function findComposeTool({
  path,
  isSwarm,
}: {
  path: string;
  isSwarm: boolean;
}): Promise<readonly string[] | null> {
  const docker = findProgram('docker', path);
  if (isSwarm) return docker === null ? null : [docker];
  if (docker !== null) {
    const { status } = await runProgram(docker, ['compose', 'version'], { env: { PATH: path, HOME: '/' } });
    if (status === 0) return [docker, 'compose'];
  }
  const own = findProgram('docker-compose', path);
  return own === null ? null : [own];
}

function findProgram(name: string, path: string): string | null {
  return (
    path
      .split(delimiter)
      .map((folder) => join(folder, name))
      .find(existsSync) ?? null
  );
}
