import { type Manifest, manifestOf } from '@svc/contract/manifest.shapes.ts';
import type { ManifestDocument } from '@svc/contract/manifest-document.ts';
import { parseManifestDocument, readManifestDocument, toldOf } from './manifest-document.ts';
import { manifestError } from './manifest-error.ts';

/** Loads the schema library: for commands that take the whole of `svc.yaml`, behind an `import()`. */
export interface ReadManifest {
  manifest: Manifest;
  source: ManifestSource;
}

export interface ManifestSource {
  /** An error about a value of the file, found out later, with its place in it. */
  refuse(keys: readonly PropertyKey[], detail: string): Error;
}

/** The whole file, every value of it checked. Faults are `validation_failed` with file, line and column. */
export async function readManifest(path: string, shown = path): Promise<ReadManifest> {
  return checkManifest(await readManifestDocument(path, shown), shown);
}

/** The same of a text that has been read already. */
export function parseManifest(text: string, shown: string): ReadManifest {
  return checkManifest(parseManifestDocument(text, shown), shown);
}

function checkManifest(document: ManifestDocument, shown: string): ReadManifest {
  return {
    manifest: toldOf(shown, () => manifestOf(document)),
    source: {
      refuse: (keys, detail) => manifestError(shown, [document.faultAt(keys, 'invalid', detail)]),
    },
  };
}
