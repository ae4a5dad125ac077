interface Crumb {
  name: string;
  prefix: string;
}

export function breadcrumbs(prefix: string): Crumb[] {
  const names = prefix.split('/').filter((name) => name !== '');
  return names.map((name, at) => ({ name, prefix: `${names.slice(0, at + 1).join('/')}/` }));
}

export function nameWithin(prefix: string, key: string): string {
  return key.startsWith(prefix) ? key.slice(prefix.length).replace(/\/$/, '') : key;
}

type PreviewKind = 'image' | 'text' | null;

const previewTextBytesMax = 200 * 1024;
const previewImageBytesMax = 20 * 1024 * 1024;

/** SVG is shown in an `img`, where its scripts do not run. */
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

export const folderHref = (prefix: string) => `?${new URLSearchParams(prefix === '' ? {} : { prefix })}`;
