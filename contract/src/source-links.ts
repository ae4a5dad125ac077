/**
 * Whether a link in a source stays in it: what its text says is where it leads, because it leads upwards at its
 * beginning alone, and never above the folder. `path` is that of the link, below the folder.
 */
export function staysInside(path: string, target: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  if (path === '' || target === '' || target.startsWith('/') || /[\u0000-\u001f\u007f]/.test(target))
    return false;
  const [upwards = ''] = /^(?:\.{1,2}\/+)*(?:\.{1,2}$)?/.exec(target) ?? [];
  if (target.slice(upwards.length).split('/').includes('..')) return false;
  const ups = upwards.split('/').filter((segment) => segment === '..').length;
  return ups <= path.split('/').length - 1;
}
