import { isObject } from '@svc/contract/json.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import { manifestBytesMax } from '@svc/contract/manifest.ts';
import {
  type ManifestDocument,
  type ManifestForm,
  manifestTooLargeError,
  parseManifestDocument as parse,
} from '@svc/contract/manifest-document.ts';
import {
  faultsInOrder,
  faultText,
  type ManifestFault,
  ManifestFaults,
} from '@svc/contract/manifest-faults.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import * as yaml from 'yaml';
import { readFileText } from '../inputs/files.ts';
import { AdvisedProblemError } from '../session/problems.ts';

export async function readManifestDocument(path: string, shown = path): Promise<ManifestDocument> {
  const tooLargeError = () => manifestError(shown, manifestTooLargeError().faults);
  const text = await readFileText(path, { bytesMax: manifestBytesMax, shown, tooLargeError });
  return parseManifestDocument(text, shown);
}

export function parseManifestDocument(text: string, shown: string, form?: ManifestForm): ManifestDocument {
  return withManifestErrors(shown, () => parse(yaml, text, form));
}

export function withManifestErrors<T>(shown: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof ManifestFaults ? manifestError(shown, cause.faults) : cause;
  }
}

/**
 * The app and tenant of a `svc.yaml`, parsed without a schema, because loading one would take longer than a request.
 * Rejects unknown keys; `readManifest` checks the other values.
 */
export async function readManifestNames(
  path: string,
  shown: string,
): Promise<{ app: string | null; tenant: string | null }> {
  const document = await readManifestDocument(path, shown);
  const { name, tenant, app } = document.data;
  const slug = app === undefined ? undefined : (isObject(app) ? app : {}).slug;
  const faults = [
    ...textFaults(document, ['name'], name),
    ...textFaults(document, ['tenant'], tenant),
    ...(app === undefined || isObject(app)
      ? []
      : [document.faultAt(['app'], 'invalid_type', 'must be an object')]),
    ...slugFaults(document, slug),
  ];
  if (faults.length > 0) throw manifestError(shown, faults);
  return {
    app: typeof slug === 'string' ? slug : typeof name === 'string' ? slugFromName(name) : null,
    tenant: typeof tenant === 'string' ? tenant : null,
  };
}

function textFaults(document: ManifestDocument, keys: readonly string[], value: unknown) {
  if (value === undefined || (typeof value === 'string' && value.trim() !== '')) return [];
  const detail = value === '' ? 'must not be empty' : 'must be a text';
  return [document.faultAt(keys, 'invalid_type', detail)];
}

function slugFaults(document: ManifestDocument, slug: unknown) {
  if (slug === undefined) return [];
  if (typeof slug === 'string' && slugPattern.test(slug) && !uuidPattern.test(slug)) return [];
  const detail = 'must be 2 to 63 of a-z, 0-9 and -, begin with a letter and not end with -';
  return [document.faultAt(['app', 'slug'], 'invalid_format', detail)];
}

const faultsShownMax = 20;

export function manifestError(file: string, faults: readonly ManifestFault[]): AdvisedProblemError {
  const inOrder = faultsInOrder(faults);
  const [first] = inOrder;
  const problem = {
    type: 'about:blank',
    title: 'Invalid svc.yaml',
    status: 400,
    detail: first === undefined ? `${file} is invalid.` : faultText(file, first),
    code: 'validation_failed' as const,
    request_id: '',
    errors: inOrder.slice(0, faultsShownMax).map(problemItem),
  };
  return new AdvisedProblemError(problem, `Fix ${file}; svc init --print shows an example.`);
}

function problemItem({ line, field, code, detail }: ManifestFault): ProblemItem {
  return { ...(field !== '' && { field }), line, code, detail };
}
