import { type Detected, noWay, type Way } from './detected.ts';
import { detectJavaScript } from './javascript.ts';
import { detectOther } from './other-languages.ts';
import type { SourceFiles } from './source-files.ts';

const dockerfileName = 'Dockerfile';
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'] as const;

/** Reads names of files and a few of these; runs nothing. A Dockerfile is the clearest word, a compose file the next. */
export async function detectSource(files: SourceFiles): Promise<Detected> {
  const told = (await detectJavaScript(files)) ?? (await detectOther(files));
  const best = told?.ways[0] ?? noWay;
  const containers: Way[] = [];
  const evidence = [...(told?.evidence ?? [])];
  if (files.paths.has(dockerfileName)) {
    const start = told?.ways.find((way) => way.start_command !== null) ?? null;
    const commands = start ?? { install_command: null, build_command: null, start_command: null };
    containers.push({
      ...best,
      deploy_method: 'docker',
      install_command: commands.install_command,
      build_command: commands.build_command,
      start_command: commands.start_command,
      output_dir: null,
      dockerfile: dockerfileName,
    });
    evidence.unshift({ file: dockerfileName, says: 'says how its image is built' });
  }
  const compose = composeNames.find((name) => files.paths.has(name));
  if (compose) {
    const { language, framework } = best;
    containers.push({ ...noWay, deploy_method: 'compose', language, framework, compose_file: compose });
    evidence.unshift({ file: compose, says: 'says which containers make it up' });
  }
  const ways = [...containers, ...(told?.ways ?? []).filter((way) => !isCovered(way, containers))];
  return { ways, packageManager: told?.packageManager ?? null, evidence };
}

/** The way of the Dockerfile has the same commands. */
function isCovered({ deploy_method: method }: Way, containers: readonly Way[]): boolean {
  return method === 'docker' && containers.some((way) => way.dockerfile !== null);
}
