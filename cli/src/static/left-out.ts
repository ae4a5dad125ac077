/**
 * What is not part of a site although it lies in its folder: what tools keep for themselves, and what may hold secrets.
 * Other names that begin with a dot are taken, since `.well-known` is one of them.
 */
export function isLeftOut(name: string, depth: number): boolean {
  // Where the file system does not tell letters apart, `.ENV` is what is read as `.env`.
  const lower = name.toLowerCase();
  // The platform answers below this path of every site itself.
  if (depth === 0 && lower === '.svc') return true;
  return names.has(lower) || patterns.some((pattern) => pattern.test(lower));
}

const names: ReadonlySet<string> = new Set([
  ...['.git', '.hg', '.svn', 'node_modules', '.ds_store', 'thumbs.db'],
  ...['.env', '.envrc', '.npmrc', '.pypirc', '.netrc', '.pgpass', '.htpasswd', '.git-credentials'],
  ...['.aws', '.ssh', '.gnupg'],
]);

/** `.env.local`; then what editors keep beside a file that is open: `.a.swp`, `a~`, `#a#`, `.#a`. */
const patterns = [/^\.env\./, /^\..*\.sw[a-p]$/, /~$/, /^#.*#$/, /^\.#/];
