export interface Crumb {
  name: string;
  prefix: string;
}

/** The folders above and including a prefix, from the outermost. */
export function crumbsOf(prefix: string): Crumb[] {
  const names = prefix.split('/').filter((name) => name !== '');
  return names.map((name, at) => ({ name, prefix: `${names.slice(0, at + 1).join('/')}/` }));
}

/** What a folder or an object is called inside the folder that it lies in. */
export function nameWithin(prefix: string, key: string): string {
  return key.startsWith(prefix) ? key.slice(prefix.length).replace(/\/$/, '') : key;
}

export type PreviewKind = 'image' | 'text' | null;

export const previewTextBytesMax = 200 * 1024;
const previewImageBytesMax = 20 * 1024 * 1024;

/** How it can be looked at in place. SVG goes as a picture too: in an `img` no script of it runs. */
export function previewKind({
  content_type: type,
  size,
}: {
  content_type: string;
  size: number;
}): PreviewKind {
  if (/^image\/(?:png|jpeg|gif|webp|avif|svg\+xml|bmp|x-icon)/.test(type))
    return size <= previewImageBytesMax ? 'image' : null;
  const isText = /^text\/|[/+]json\b|[/+]xml\b|[/+]yaml\b|javascript/.test(type);
  return isText && size <= previewTextBytesMax ? 'text' : null;
}
