import { suggest } from '@svc/contract/suggest.ts';
import { type CliError, usage } from './errors.ts';
import { nextWords } from './registry.ts';

/** `stray` is a flag before the word that is not a global one: then the word may have been its value. */
export function unknownWord(path: string, token: string, stray: string | undefined): CliError {
  const prefix = path === '' ? '' : `${path} `;
  const near = suggest(token, nextWords(path));
  const next =
    near !== null
      ? `Did you mean svc ${prefix}${near}?`
      : stray === undefined
        ? `See svc ${prefix}--help.`
        : 'Flags of a command come after its words.';
  return usage(`"${prefix}${token}" is not a command.`, next);
}
