import * as yaml from 'yaml';
import { isSame } from '../plumbing/canonical.ts';

/** What a `svc.yaml` calls the app it is about. */
export interface ManifestNames {
  name: string;
  slug: string;
  /** Null: it stays as it is. */
  tenant: string | null;
}

/**
 * A `svc.yaml` that says of the app what it says now; only values that it has, and all else byte for byte. Null where
 * it has none, or can not be read: then whoever deploys it is told.
 */
export function ownManifest(text: string, { name, slug, tenant }: ManifestNames): string | null {
  const wanted: [string[], string | null][] = [
    [['name'], name],
    [['app', 'slug'], slug],
    [['tenant'], tenant],
  ];
  const document = yaml.parseDocument(text, { stringKeys: true });
  if (document.errors.length > 0) return null;
  const places = wanted
    .flatMap(([path, value]) => {
      const node: unknown = value === null ? undefined : document.getIn(path, true);
      if (value === null || !yaml.isScalar(node) || !node.range || node.value === value) return [];
      if (typeof node.value !== 'string') return [];
      return [{ path, value, from: node.range[0], to: node.range[1], style: node.type }];
    })
    .sort((a, b) => b.from - a.from);
  let changed = text;
  for (const { value, from, to, style } of places) {
    const end = changed.slice(from, to).trimEnd().length;
    changed = changed.slice(0, from) + written(value, style) + changed.slice(from + end);
  }
  return places.length > 0 && saysSo(changed, document, places) ? changed : null;
}

/** As it was written where the value allows it: plain, or in quotes, which every value does. */
function written(value: string, style: string | undefined): string {
  const isPlain = /^[A-Za-z](?:[A-Za-z0-9 _-]*[A-Za-z0-9])?$/.test(value) && yaml.parse(value) === value;
  return style === 'PLAIN' && isPlain ? value : JSON.stringify(value);
}

/** Anchors, and whatever else the format allows, could make more of the edit. */
function saysSo(text: string, before: yaml.Document, places: { path: string[]; value: string }[]): boolean {
  try {
    const after = yaml.parseDocument(text, { stringKeys: true });
    const expected = new yaml.Document(before.toJS());
    for (const { path, value } of places) expected.setIn(path, value);
    return after.errors.length === 0 && isSame(after.toJS(), expected.toJS());
  } catch {
    // Too many aliases, or one of nothing.
    return false;
  }
}
