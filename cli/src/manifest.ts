import { issueText } from '@svc/contract/issue-text.ts';
import { Manifest } from '@svc/contract/manifest.shapes.ts';
import { type ManifestDocument, parseManifestDocument, readManifestDocument } from './manifest-document.ts';
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

function checkManifest({ data, faultAt }: ManifestDocument, shown: string): ReadManifest {
  const result = Manifest.safeParse(data, { error: issueText });
  if (!result.success) {
    throw manifestError(
      shown,
      result.error.issues.map((issue) => {
        const ofText = issue.path[0] === 'env' && issue.code === 'invalid_type' ? '; put it in quotes' : '';
        const told =
          issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
        return faultAt(issue.path, issue.code, `${told}${ofText}`);
      }),
    );
  }
  return {
    manifest: result.data,
    source: {
      refuse: (keys, detail) => manifestError(shown, [faultAt(keys, 'invalid', detail)]),
    },
  };
}
