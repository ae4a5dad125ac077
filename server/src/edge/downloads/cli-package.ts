import { join } from 'node:path';
import { Glob } from 'bun';
import cli from '../../../../cli/package.json' with { type: 'json' };
import contract from '../../../../contract/package.json' with { type: 'json' };
import platform from '../../../../package.json' with { type: 'json' };
import { projectRoot } from '../../core/project-root.ts';
import { type PackedFiles, packTarball } from './tarball.ts';

const encoder = new TextEncoder();
/** Packages of this repository that the command line imports. */
const bundled = ['@svc/contract', '@svc/sdk'] as const;

/** The command line as an npm package: sources, which Bun runs as they are. */
export async function packCli(): Promise<Uint8Array<ArrayBuffer>> {
  const files: PackedFiles = new Map();
  const add = (name: string, bytes: Uint8Array, mode = 0o644) => files.set(name, { bytes, mode });
  const addSources = async (from: string, to: string) => {
    const sources = [...new Glob('src/**/*.ts').scanSync(join(projectRoot, from))].sort();
    for (const path of sources.filter((path) => !/\.test\.ts$|\/testing\.ts$/.test(path)))
      add(`${to}/${path}`, await Bun.file(join(projectRoot, from, path)).bytes());
    // npm takes the dependencies of what is bundled for bundled, too.
    const { dependencies: _, ...rest } = await Bun.file(join(projectRoot, from, 'package.json')).json();
    add(`${to}/package.json`, encoder.encode(JSON.stringify(rest)));
  };
  add('package.json', encoder.encode(JSON.stringify(manifest, null, 2)));
  add('svc', encoder.encode(launcher), 0o755);
  await addSources('cli', 'cli');
  for (const name of bundled) await addSources(name.replace('@svc/', ''), `node_modules/${name}`);
  return packTarball(files);
}

const manifest = {
  name: 'svc-cli',
  version: platform.version,
  description: 'The command line of svc.',
  type: 'module',
  bin: { svc: 'svc' },
  engines: platform.engines,
  dependencies: { ...platform.dependencies, ...contract.dependencies, ...cli.dependencies },
  bundleDependencies: bundled,
};

/** Like `svc` of the repository. npm may be set to run no install scripts: then Bun is where its package for this machine is. */
const launcher = `#!/bin/sh
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=\${self%/*}/$link ;; esac
done
root=\${self%/*}
bun=$root/node_modules/bun/bin/bun.exe
if [ -z "$(find "$bun" -size +1000k 2>/dev/null)" ]; then
  for bun in "$root"/node_modules/@oven/bun-*/bin/bun; do [ -x "$bun" ] && break; done
fi
[ -x "$bun" ] || { echo 'svc: Bun is missing. Install svc again.' >&2; exit 1; }
exec "$bun" --no-env-file --config=/dev/null "$root/cli/src/main.ts" "$@"
`;

export function installScript(baseUrl: string): string {
  return `#!/bin/sh
# Installs the command line of ${baseUrl}: curl -fsSL ${baseUrl}/install | sh
set -eu
command -v npm >/dev/null || { echo 'Install Node.js 20 or newer first: npm is missing.' >&2; exit 1; }
prefix=$(npm prefix --global)
if [ ! -w "$prefix/lib" ] && [ ! -w "$prefix" ]; then prefix=$HOME/.local; fi
npm install --global --prefix "$prefix" --no-audit --no-fund --no-update-notifier --loglevel=error '${baseUrl}/cli.tgz'
"$prefix/bin/svc" version --client
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "Add $prefix/bin to your PATH." ;; esac
echo 'Next: svc config set base-url ${baseUrl} && svc login'
`;
}
