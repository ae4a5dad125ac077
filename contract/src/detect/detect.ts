/**
 * `svc init`, `svc apps detect` and builds share this detection, so that they agree. Nothing of the source is
 * executed.
 */
import { detectJavaScript } from './javascript.ts';
import { detectOther } from './other-languages.ts';
import { type BuildSettings, type Detected, unknownSettings } from './settings.ts';
import type { SourceFiles } from './source-files.ts';

const dockerfileNames = ['Dockerfile', 'Containerfile'] as const;
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'] as const;

export async function detectSource(files: SourceFiles): Promise<Detected> {
  const project = (await detectJavaScript(files)) ?? (await detectOther(files));
  const best = project?.options[0] ?? unknownSettings;
  const containers: BuildSettings[] = [];
  const evidence = [...(project?.evidence ?? [])];
  const dockerfile = dockerfileNames.find((name) => files.paths.has(name));
  if (dockerfile) {
    const program = project?.options.find((option) => option.start_command !== null) ?? unknownSettings;
    containers.push({
      ...best,
      deploy_method: 'docker',
      install_command: program.install_command,
      build_command: program.build_command,
      start_command: program.start_command,
      output_dir: null,
      dockerfile,
    });
    evidence.unshift({ file: dockerfile, says: 'defines the image' });
  }
  const compose = composeNames.find((name) => files.paths.has(name));
  if (compose) {
    const { language, framework } = best;
    containers.push({
      ...unknownSettings,
      deploy_method: 'compose',
      language,
      framework,
      compose_file: compose,
    });
    evidence.unshift({ file: compose, says: 'defines the containers' });
  }
  const others = (project?.options ?? []).filter(
    ({ deploy_method: method }) => method !== 'docker' || dockerfile === undefined,
  );
  return {
    options: [...containers, ...others],
    packageManager: project?.packageManager ?? null,
    evidence,
  };
}
