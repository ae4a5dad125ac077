/** Names of the git host: what may be one, so that nothing else is ever handed to git, to an address or to a path. */

export const gitOwnerPattern = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?$/;
export const gitRepoNamePattern =
  /^(?!\.{1,2}$)(?!.*\.(?:git|lock|wiki)$)[A-Za-z0-9_.][A-Za-z0-9._-]{0,99}$/i;
/** `owner/name`. */
export const gitRepoPattern =
  /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?\/(?!\.{1,2}$)(?!.*\.(?:git|lock|wiki)$)[A-Za-z0-9_.][A-Za-z0-9._-]{0,99}$/i;
export const gitCommitPattern = /^[0-9a-f]{40}$/;
export const gitRefCharsMax = 255;

/**
 * A branch or a tag. Stricter than git: printable ASCII without what means something to git, to a shell or to an
 * address, and never something that could be taken for an option.
 */
export function isGitRef(text: string): boolean {
  if (text.length === 0 || text.length > gitRefCharsMax) return false;
  if (!/^[A-Za-z0-9_][A-Za-z0-9._/+=@%#,-]*$/.test(text)) return false;
  if (/\.\.|\/\/|@\{|\/\.|\.\/|\/-/.test(text) || /[./]$/.test(text)) return false;
  return !text.split('/').some((part) => part.endsWith('.lock')) && text !== 'HEAD';
}
