/**
 * `svc init`, `svc apps detect` and builds share this detection, so that they agree. Nothing of the source is
 * executed.
 */
import { detectJavaScript } from './javascript.ts';
import { type HostSettings, hostBase, readHostSettings, withHostSettings } from './other-hosts.ts';
import { detectOther } from './other-languages.ts';
import { procfileCommand } from './procfile.ts';
import { type BuildSettings, type Detected, isDeployable, unknownSettings } from './settings.ts';
import type { SourceFiles } from './source-files.ts';
import { below, installAtRoot, withWorkspaceTools, workspaceFolders } from './workspaces.ts';

const dockerfileNames = ['Dockerfile', 'Containerfile'] as const;
const composeNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'] as const;

/** At the root of a workspace, its apps are options too: each with its folder. */
export async function detectSource(files: SourceFiles): Promise<Detected> {
  const base = await hostBase(files);
  if (base !== null) {
    const { detected } = await detectFolder(files, base, below(files, base));
    return { ...detected, options: detected.options.map((option) => ({ ...option, dir: base })) };
  }
  const own = await detectProject(files);
  const apps: BuildSettings[] = [];
  for (const folder of await workspaceFolders(files)) {
    const [best] = (await detectPackage(files, folder, { own: below(files, folder), hosts: [] })).options;
    if (best && isApp(best)) apps.push(best);
  }
  const isRootApp = own.options.some(isDeployable);
  return { ...own, options: isRootApp ? [...own.options, ...apps] : [...apps, ...own.options] };
}

/** The folder of a source, with the tools of the workspace that it may belong to. */
export async function detectFolder(
  root: SourceFiles,
  folder: string,
  own: SourceFiles,
): Promise<{ detected: Detected; files: SourceFiles }> {
  if (folder === '.') return { detected: await detectSource(own), files: own };
  // The file in the root names the folder, and has the settings for it.
  const hosts = (await hostBase(root)) === folder ? await readHostSettings(root) : [];
  if (!(await workspaceFolders(root)).includes(folder))
    return { detected: await detectProject(own, hosts), files: own };
  return {
    detected: await detectPackage(root, folder, { own, hosts }),
    files: withWorkspaceTools(root, own),
  };
}

async function detectPackage(
  root: SourceFiles,
  folder: string,
  { own, hosts }: { own: SourceFiles; hosts: readonly HostSettings[] },
): Promise<Detected> {
  const detected = await detectProject(withWorkspaceTools(root, own), hosts);
  const options = detected.options.map((option) => ({
    ...option,
    dir: folder,
    install_command: installAtRoot(folder, option.install_command),
  }));
  return { ...detected, options };
}

/** Most packages of a workspace are libraries. */
function isApp(option: BuildSettings): boolean {
  const { framework, start_command: start, dockerfile, output_dir: output } = option;
  return (
    dockerfile !== null ||
    output !== null ||
    (start !== null && (framework !== null || / run start$/.test(start)))
  );
}

async function detectProject(files: SourceFiles, hosts: readonly HostSettings[] = []): Promise<Detected> {
  const found = (await detectJavaScript(files)) ?? (await detectOther(files));
  const release = await procfileCommand(files, 'release');
  const project = withProcfile(withHostSettings(found, [...hosts, ...(await readHostSettings(files))]), {
    web: await procfileCommand(files, 'web'),
    release,
  });
  const best = project?.options[0] ?? unknownSettings;
  const containers: BuildSettings[] = [];
  const evidence = [...(project?.evidence ?? [])];
  const dockerfile = dockerfileNames.find((name) => files.paths.has(name));
  if (dockerfile) {
    const program = project?.options.find((option) => option.start_command !== null) ?? unknownSettings;
    // An image starts by itself as its author wants; a detected release command may not exist in it.
    const before = release === null ? program.release_command : null;
    containers.push({
      ...best,
      deploy_method: 'docker',
      install_command: program.install_command,
      build_command: program.build_command,
      release_command: before === null ? program.release_command : null,
      start_command: before === null ? program.start_command : `${before} && ${program.start_command}`,
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

/** A Procfile says what runs, whatever else was found. */
function withProcfile(
  project: Detected | null,
  { web, release }: { web: string | null; release: string | null },
): Detected | null {
  if (web === null && release === null) return project;
  const options = project?.options ?? [];
  const [program] = options.filter(({ deploy_method: method }) => method === 'docker');
  if (web === null && !program) return project;
  const started: BuildSettings = {
    ...(program ?? options[0] ?? unknownSettings),
    deploy_method: 'docker',
    ...(web !== null && { start_command: web, output_dir: null }),
    release_command: release,
  };
  const others = options.filter((option) => option.deploy_method !== 'docker');
  const named = [
    ...(web === null ? [] : ['names the web process']),
    ...(release === null ? [] : ['names the release command']),
  ];
  return {
    // Without a web process, the order of what was found stays.
    options:
      web === null ? options.map((option) => (option === program ? started : option)) : [started, ...others],
    packageManager: project?.packageManager ?? null,
    evidence: [...named.map((says) => ({ file: 'Procfile', says })), ...(project?.evidence ?? [])],
  };
}
