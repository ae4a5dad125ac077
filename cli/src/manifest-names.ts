import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import type { ManifestDocument } from '@svc/contract/manifest-document.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { readManifestDocument } from './manifest-document.ts';
import { manifestError } from './manifest-error.ts';

/**
 * The names in a `svc.yaml` that commands default to, read without a schema: every command that is about an app passes
 * here, and loading one would take longer than its request. Unknown keys are refused; values that are not asked for
 * are left to `readManifest`.
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
