/**
 * What is not part of a site although it lies in its folder: what tools keep for themselves, and what may hold secrets.
 * Other names that begin with a dot are taken, since `.well-known` is one of them.
 */
export function isLeftOut(name: string, depth: number): boolean {
  // The platform answers below this path of every site itself.
  if (depth === 0 && name === '.svc') return true;
  return names.has(name) || patterns.some((pattern) => pattern.test(name));
}

const names: ReadonlySet<string> = new Set(['.git', 'node_modules', '.env', '.DS_Store', 'Thumbs.db']);

/** `.env.local`; then what editors keep beside a file that is open: `.a.swp`, `a~`, `#a#`, `.#a`. */
const patterns = [/^\.env\./, /^\..*\.sw[a-p]$/, /~$/, /^#.*#$/, /^\.#/];
