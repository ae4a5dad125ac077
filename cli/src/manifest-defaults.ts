import { findManifest } from './find-manifest.ts';
import type { Io } from './io.ts';

/** What `svc.yaml` says about where a command works. */
export interface ManifestDefaults {
  path: string;
  /** The slug of the app, said or made from its name. */
  app: string | null;
  tenant: string | null;
}

/** One run reads the file once, whoever asks. */
const read = new WeakMap<Io, Promise<ManifestDefaults | null>>();

/**
 * Of the nearest `svc.yaml`, or null without one. A file with a fault is refused rather than passed over: otherwise a
 * slip in it could send a command to another tenant.
 */
export function manifestDefaults(io: Io): Promise<ManifestDefaults | null> {
  const known = read.get(io) ?? readDefaults(io);
  read.set(io, known);
  return known;
}

async function readDefaults({ cwd, env }: Io): Promise<ManifestDefaults | null> {
  const folder = cwd();
  const path = await findManifest({ cwd: folder, home: env.HOME || env.USERPROFILE });
  if (path === null) return null;
  const { readManifestNames } = await import('./manifest-names.ts');
  const isHere = path.startsWith(`${folder}/`);
  return { path, ...(await readManifestNames(path, isHere ? path.slice(folder.length + 1) : path)) };
}
