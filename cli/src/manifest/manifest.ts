import { type Manifest, manifestOf } from '@svc/contract/manifest.shapes.ts';
import type { ManifestDocument } from '@svc/contract/manifest-document.ts';
import {
  manifestError,
  parseManifestDocument,
  readManifestDocument,
  withManifestErrors,
} from './document.ts';

/** This file loads the schema library: import it with `import()`. */
export interface ReadManifest {
  manifest: Manifest;
  source: ManifestSource;
}

export interface ManifestSource {
  refuse(keys: readonly PropertyKey[], detail: string): Error;
}

export async function readManifest(path: string, shown = path): Promise<ReadManifest> {
  return checkManifest(await readManifestDocument(path, shown), shown);
}

export function parseManifest(text: string, shown: string): ReadManifest {
  return checkManifest(parseManifestDocument(text, shown), shown);
}

function checkManifest(document: ManifestDocument, shown: string): ReadManifest {
  return {
    manifest: withManifestErrors(shown, () => manifestOf(document)),
    source: {
      refuse: (keys, detail) => manifestError(shown, [document.faultAt(keys, 'invalid', detail)]),
    },
  };
}
