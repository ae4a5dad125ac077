import { join } from 'node:path';
import { tarEnd, tarHeaderBlocks, tarPadding } from '@svc/contract/tar.ts';
import { Glob } from 'bun';
import cli from '../../../../cli/package.json' with { type: 'json' };
import contract from '../../../../contract/package.json' with { type: 'json' };
import platform from '../../../../package.json' with { type: 'json' };
import sdk from '../../../../sdk/package.json' with { type: 'json' };
import { projectRoot } from '../../core/project-root.ts';
import { documentAt, type PathHandler } from '../../http/front.ts';

const folder = join(projectRoot, 'sdk');

export interface SdkPackage {
  tarball: Uint8Array<ArrayBuffer>;
  module: Uint8Array<ArrayBuffer>;
}

/** The SDK of the server's version: ES modules with types and without dependencies, for browsers, Node.js and Bun. */
async function packSdk(): Promise<SdkPackage> {
  const module = await bundle('main.ts');
  const encoder = new TextEncoder();
  const files: PackedFiles = new Map();
  const add = (name: string, bytes: Uint8Array) => files.set(name, { bytes, mode: 0o644 });
  add('package.json', encoder.encode(JSON.stringify(sdkManifest, null, 2)));
  add('README.md', await Bun.file(join(folder, 'README.md')).bytes());
  add('index.js', module);
  add('server.js', await bundle('server-user.ts'));
  for (const name of [...new Glob('**/*.d.ts').scanSync(join(folder, 'types'))].sort())
    add(`types/${name}`, await Bun.file(join(folder, 'types', name)).bytes());
  return { tarball: packTarball(files), module };
}

async function bundle(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const { outputs } = await Bun.build({
    entrypoints: [join(folder, 'src', name)],
    target: 'browser',
    format: 'esm',
  });
  const [output] = outputs;
  if (!output) throw new Error(`The SDK could not be bundled: ${name}.`);
  return new Uint8Array(await output.arrayBuffer());
}

const sdkManifest = {
  name: sdk.name,
  version: platform.version,
  description: sdk.description,
  type: 'module',
  sideEffects: false,
  engines: platform.engines,
  main: './index.js',
  types: './types/main.d.ts',
  exports: {
    '.': { types: './types/main.d.ts', default: './index.js' },
    './server': { types: './types/server-user.d.ts', default: './server.js' },
    './package.json': './package.json',
  },
};

type PackedFiles = Map<string, { bytes: Uint8Array; mode: number }>;

/** An archive as npm makes it: everything is in the folder `package`. */
function packTarball(files: PackedFiles): Uint8Array<ArrayBuffer> {
  const parts = [...files].flatMap(([name, { bytes, mode }]) => [
    ...tarHeaderBlocks({ name: `package/${name}`, type: '0', size: bytes.byteLength, mode }),
    bytes,
    tarPadding(bytes.byteLength),
  ]);
  return Bun.gzipSync(Buffer.concat([...parts, tarEnd()]));
}

const encoder = new TextEncoder();
const bundled = ['@svc/contract', '@svc/sdk'] as const;

/** The command line as an npm package: sources, which Bun runs as they are. */
async function packCli(): Promise<Uint8Array<ArrayBuffer>> {
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
  add('package.json', encoder.encode(JSON.stringify(cliManifest, null, 2)));
  add('svc', encoder.encode(launcher), 0o755);
  await addSources('cli', 'cli');
  for (const name of bundled) await addSources(name.replace('@svc/', ''), `node_modules/${name}`);
  return packTarball(files);
}

const cliManifest = {
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

function installScript(baseUrl: string): string {
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

const archiveHeaders = { 'content-type': 'application/gzip', 'cache-control': 'no-cache' };

export function createSdkPackage(): () => Promise<SdkPackage> {
  let sdk: Promise<SdkPackage> | undefined;
  return () => {
    sdk ??= packSdk();
    return sdk;
  };
}

export function downloadHandlers(baseUrl: string, sdk: () => Promise<SdkPackage>): PathHandler[] {
  let cli: ReturnType<typeof packCli> | undefined;
  return [
    documentAt('/install', async () => {
      const headers = { 'content-type': 'text/x-shellscript; charset=utf-8', 'cache-control': 'no-cache' };
      return new Response(installScript(baseUrl), { headers });
    }),
    documentAt('/cli.tgz', async () => {
      cli ??= packCli();
      return new Response(await cli, { headers: archiveHeaders });
    }),
    documentAt('/sdk.tgz', async () => new Response((await sdk()).tarball, { headers: archiveHeaders })),
  ];
}
