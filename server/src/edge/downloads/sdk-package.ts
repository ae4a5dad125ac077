import { join } from 'node:path';
import { Glob } from 'bun';
import platform from '../../../../package.json' with { type: 'json' };
import sdk from '../../../../sdk/package.json' with { type: 'json' };
import { projectRoot } from '../../core/project-root.ts';
import { type PackedFiles, packTarball } from './tarball.ts';

const folder = join(projectRoot, 'sdk');

export interface SdkPackage {
  tarball: Uint8Array<ArrayBuffer>;
  /** One ES module, for `<script type="module">`. */
  module: Uint8Array<ArrayBuffer>;
}

/** The SDK of the server's version: ES modules with types and without dependencies, for browsers, Node.js and Bun. */
export async function packSdk(): Promise<SdkPackage> {
  const module = await bundle('main.ts');
  const encoder = new TextEncoder();
  const files: PackedFiles = new Map();
  const add = (name: string, bytes: Uint8Array) => files.set(name, { bytes, mode: 0o644 });
  add('package.json', encoder.encode(JSON.stringify(manifest, null, 2)));
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

const manifest = {
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
