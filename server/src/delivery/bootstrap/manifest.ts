import * as yaml from 'yaml';
import { isDeepEqual } from '../../core/values.ts';

export interface ManifestNames {
  name: string;
  slug: string;
  /** Null: unchanged. */
  tenant: string | null;
}

/**
 * Replaces existing values only and keeps all other bytes. Null if there is nothing to change or the file is not valid: the
 * next deployment then reports it.
 */
export function renameManifest(text: string, { name, slug, tenant }: ManifestNames): string | null {
  const values: [string[], string | null][] = [
    [['name'], name],
    [['app', 'slug'], slug],
    [['tenant'], tenant],
  ];
  const document = yaml.parseDocument(text, { stringKeys: true });
  if (document.errors.length > 0) return null;
  const edits = values
    .flatMap(([path, value]) => {
      const node: unknown = value === null ? undefined : document.getIn(path, true);
      if (value === null || !yaml.isScalar(node) || !node.range || node.value === value) return [];
      if (typeof node.value !== 'string') return [];
      return [{ path, value, from: node.range[0], to: node.range[1], style: node.type }];
    })
    .sort((a, b) => b.from - a.from);
  let changed = text;
  for (const { value, from, to, style } of edits) {
    const end = changed.slice(from, to).trimEnd().length;
    changed = changed.slice(0, from) + formatValue(value, style) + changed.slice(from + end);
  }
  return edits.length > 0 && isEditExact(changed, document, edits) ? changed : null;
}

/** Plain like before if the value allows it, otherwise quoted. */
function formatValue(value: string, style: string | undefined): string {
  const isPlain = /^[A-Za-z](?:[A-Za-z0-9 _-]*[A-Za-z0-9])?$/.test(value) && yaml.parse(value) === value;
  return style === 'PLAIN' && isPlain ? value : JSON.stringify(value);
}

/** Anchors and aliases could make an edit change other values too. */
function isEditExact(text: string, before: yaml.Document, edits: { path: string[]; value: string }[]) {
  try {
    const after = yaml.parseDocument(text, { stringKeys: true });
    const expected = new yaml.Document(before.toJS());
    for (const { path, value } of edits) expected.setIn(path, value);
    return after.errors.length === 0 && isDeepEqual(after.toJS(), expected.toJS());
  } catch {
    // Too many aliases, or an unresolved one.
    return false;
  }
}
