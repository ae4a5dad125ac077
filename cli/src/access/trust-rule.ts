import { githubIssuer, gitlabIssuer } from '@svc/contract/service-accounts.ts';
import { usageError } from '../framework/errors.ts';

interface TrustFlags {
  github?: string | undefined;
  gitlab?: string | undefined;
  issuer?: string | undefined;
  audience?: string | undefined;
  claim?: readonly string[] | undefined;
}

/** The rule for what `--github`, `--gitlab`, `--issuer` and `--claim` say. */
export function trustRule({ github, gitlab, issuer, audience, claim = [] }: TrustFlags) {
  const claims = { ...presetClaims({ github, gitlab }), ...Object.fromEntries(claim.map(parseClaim)) };
  if (Object.keys(claims).length === 0)
    throw usageError('--issuer alone would trust everybody who uses it.', 'Add a --claim, such as sub=….');
  const preset = github !== undefined ? githubIssuer : gitlabIssuer;
  return { issuer: (issuer ?? preset).replace(/\/+$/, ''), audience, claims };
}

function presetClaims({ github, gitlab }: Pick<TrustFlags, 'github' | 'gitlab'>): Record<string, string> {
  if (github !== undefined) {
    const { path, ref } = parseRepository('github', github, /^[\w.-]+\/[\w.-]+$/);
    const full = ref === null || ref.startsWith('refs/') ? ref : `refs/heads/${ref}`;
    return { repository: path, ...(full !== null && { ref: full }) };
  }
  if (gitlab === undefined) return {};
  const { path, ref } = parseRepository('gitlab', gitlab, /^[\w.-]+(?:\/[\w.-]+)+$/);
  if (ref === null) return { project_path: path };
  const [, type = 'heads', name = ref] = /^refs\/(heads|tags)\/(.+)$/.exec(ref) ?? [];
  return { project_path: path, ref_type: type === 'tags' ? 'tag' : 'branch', ref: name };
}

function parseRepository(flag: string, text: string, pattern: RegExp): { path: string; ref: string | null } {
  const [path = '', ...rest] = text.split('@');
  const ref = rest.length === 0 ? null : rest.join('@');
  if (pattern.test(path) && ref !== '') return { path, ref };
  throw usageError(`--${flag} is not a repository: ${text}.`, 'Write it as acme/shop, or acme/shop@main.');
}

function parseClaim(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(`--claim is not name=pattern: ${text}.`);
}
