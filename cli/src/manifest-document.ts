import { manifestBytesMax } from '@svc/contract/manifest.ts';
import {
  type ManifestDocument,
  type ManifestForm,
  manifestTooLarge,
  parseManifestDocument as parse,
} from '@svc/contract/manifest-document.ts';
import { ManifestFaults } from '@svc/contract/manifest-faults.ts';
import * as yaml from 'yaml';
import { manifestError } from './manifest-error.ts';
import { readFileText } from './read-file-text.ts';

/** `shown` is how messages name the file. */
export async function readManifestDocument(path: string, shown = path): Promise<ManifestDocument> {
  const tooLarge = () => manifestError(shown, manifestTooLarge().faults);
  const text = await readFileText(path, { bytesMax: manifestBytesMax, shown, tooLarge });
  return parseManifestDocument(text, shown);
}

export function parseManifestDocument(text: string, shown: string, form?: ManifestForm): ManifestDocument {
  return toldOf(shown, () => parse(yaml, text, form));
}

/** Faults, as the one who typed the command is told of them. */
export function toldOf<T>(shown: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof ManifestFaults ? manifestError(shown, cause.faults) : cause;
  }
}
