/**
 * A target may go up only at its beginning, and never above the folder; so its text alone shows where it
 * leads.
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
