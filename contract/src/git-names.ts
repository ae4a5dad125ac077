export const gitOwnerPattern = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?$/;
export const gitRepoNamePattern =
  /^(?!\.{1,2}$)(?!.*\.(?:git|lock|wiki)$)[A-Za-z0-9_.][A-Za-z0-9._-]{0,99}$/i;
export const gitRepoPattern =
  /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?\/(?!\.{1,2}$)(?!.*\.(?:git|lock|wiki)$)[A-Za-z0-9_.][A-Za-z0-9._-]{0,99}$/i;
export const gitCommitPattern = /^[0-9a-f]{40}$/;
export const gitRefCharsMax = 255;

/**
 * Stricter than git: printable ASCII without characters special to git, a shell or a URL, and never like an
 * option.
 */
export function isGitRef(text: string): boolean {
  if (text.length === 0 || text.length > gitRefCharsMax) return false;
  if (!/^[A-Za-z0-9_][A-Za-z0-9._/+=@%#,-]*$/.test(text)) return false;
  if (/\.\.|\/\/|@\{|\/\.|\.\/|\/-/.test(text) || /[./]$/.test(text)) return false;
  return !text.split('/').some((part) => part.endsWith('.lock')) && text !== 'HEAD';
}
