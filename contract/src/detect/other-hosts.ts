import { manifestPathPattern } from '../manifest.ts';
import { type BuildSettings, type Detected, unknownSettings } from './settings.ts';
import type { SourceFiles } from './source-files.ts';

/** Build settings in files for other hosts. Undefined: not set; an empty command switches the step off. */
export interface HostSettings {
  file: 'netlify.toml' | 'vercel.json';
  install?: string;
  command?: string;
  output?: string;
  /** The folder to build in. */
  base?: string;
}

export async function readHostSettings(files: SourceFiles): Promise<HostSettings[]> {
  const found = [readVercel(await files.read('vercel.json')), readNetlify(await files.read('netlify.toml'))];
  return found.filter(({ file, ...settings }) => Object.values(settings).some((it) => it !== undefined));
}

/** The folder of the source that another host would build. */
export async function hostBase(files: SourceFiles): Promise<string | null> {
  const folder = readNetlify(await files.read('netlify.toml')).base;
  return folder !== undefined && files.paths.has(`${folder}/package.json`) ? folder : null;
}

export function withHostSettings(project: Detected | null, hosts: readonly HostSettings[]): Detected | null {
  return hosts.reduce(applySettings, project);
}

function applySettings(project: Detected | null, host: HostSettings): Detected | null {
  const { file, install, command, output } = host;
  const options = (project?.options ?? []).map((option) => ({
    ...option,
    install_command: install === undefined ? option.install_command : install || null,
    build_command: command === undefined ? option.build_command : command || null,
  }));
  const [best = { ...unknownSettings, build_command: command || null }] = options;
  // Hosts turn the output of a server framework into functions; here its server runs.
  const isServer = best.deploy_method !== 'static' && best.framework !== null;
  const isSite = output !== undefined && !isServer;
  if (isSite) {
    const site: BuildSettings = { ...best, deploy_method: 'static', start_command: null, output_dir: output };
    options.unshift(site);
    const replaced = options.findIndex(({ deploy_method: it }, index) => index > 0 && it === 'static');
    if (replaced > 0) options.splice(replaced, 1);
  }
  const applied = [
    install === undefined ? [] : ['the install command'],
    command === undefined ? [] : ['the build command'],
    isSite ? ['the output folder'] : [],
  ].flat();
  if (applied.length === 0 || options.length === 0) return project;
  return {
    options,
    packageManager: project?.packageManager ?? null,
    evidence: [{ file, says: `sets ${applied.join(', ')}` }, ...(project?.evidence ?? [])],
  };
}

function readVercel(text: string | null): HostSettings {
  const file = 'vercel.json';
  let data: Readonly<Record<string, unknown>>;
  try {
    data = Object(JSON.parse(text ?? '{}'));
  } catch {
    return { file };
  }
  return {
    file,
    install: commandText(data.installCommand),
    command: commandText(data.buildCommand),
    output: folderText(data.outputDirectory),
  };
}

/** Reads only keys of the table `build` whose text is on one line, as such files have them. */
function readNetlify(text: string | null): HostSettings {
  const values = new Map<string, string>();
  let table = '';
  for (const line of (text ?? '').split(/\r?\n/)) {
    table = /^\s*\[+\s*([^\]]*?)\s*\]/.exec(line)?.[1] ?? table;
    const [, name = '', basic, literal] =
      /^\s*(\w+)\s*=\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)')\s*(?:#.*)?$/.exec(line) ?? [];
    const value = basic === undefined ? literal : basicText(basic);
    if (table === 'build' && value !== undefined) values.set(name, value);
  }
  return {
    file: 'netlify.toml',
    command: commandText(values.get('command')),
    output: folderText(values.get('publish')),
    base: folderText(values.get('base')),
  };
}

/** The escapes of a basic string of TOML are those of JSON, but for rare ones. */
function basicText(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted);
  } catch {
    return undefined;
  }
}

const commandText = (value: unknown) => (typeof value === 'string' ? value.trim() : undefined);

function folderText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const short =
    value
      .trim()
      .replace(/^(?:\.?\/)+/, '')
      .replace(/\/+$/, '') || '.';
  return manifestPathPattern.test(short) ? short : undefined;
}
