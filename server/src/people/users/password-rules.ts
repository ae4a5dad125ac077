import { passwordCharsMin } from '@svc/contract/identity.ts';
import type { ZxcvbnResult } from '@zxcvbn-ts/core';
import { validationError } from '../../core/problem.ts';

/** Bounds the work of the slow password hash. */
export const passwordBytesMax = 1024;
/** Of 4. A password below needs fewer than 10^8 guesses. */
const scoreMin = 2;

/** `about`: words that the password must not consist of, such as the user's name. */
export async function checkNewPassword(password: string, about: readonly string[]): Promise<string> {
  if ([...password].length < passwordCharsMin)
    throw validationError('password', `must be at least ${passwordCharsMin} characters`);
  if (Buffer.byteLength(password) > passwordBytesMax)
    throw validationError('password', `must be at most ${passwordBytesMax} bytes`);
  const { score, feedback } = await estimateGuesses(password, about);
  if (score < scoreMin)
    throw validationError(
      'password',
      ['is too easy to guess', feedback.warning].filter(Boolean).join(': ').replace(/\.$/, ''),
      'too_common',
    );
  return password;
}

export async function estimateGuesses(password: string, about: readonly string[]): Promise<ZxcvbnResult> {
  return (await loadEstimate())(password, [...about, ...about.flatMap(words)]);
}

const words = (text: string) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);

type Estimate = (password: string, about: string[]) => ZxcvbnResult;

let loading: Promise<Estimate> | undefined;

/** To be called before a transaction that sets a password: loading takes longer than one should last. */
export async function loadPasswordRules(): Promise<void> {
  await loadEstimate();
}

/** Loaded on first use: the dictionaries take several megabytes. */
function loadEstimate(): Promise<Estimate> {
  loading ??= (async () => {
    const [{ zxcvbn, zxcvbnOptions }, common, english] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
      import('@zxcvbn-ts/language-en'),
    ]);
    zxcvbnOptions.setOptions({ graphs: common.adjacencyGraphs, translations: english.translations });
    const dictionaries = Object.entries({ ...common.dictionary, ...english.dictionary });
    return (password, about) => {
      const canContain = createFilter(password, zxcvbnOptions.l33tTable);
      for (const [name, list] of dictionaries) {
        zxcvbnOptions.rankedDictionaries[name] = rankWords(list, canContain);
        zxcvbnOptions.rankedDictionariesMaxWordSize[name] = password.length;
      }
      return zxcvbn(password, about);
    };
  })();
  return loading;
}

/** Ranks of 200,000 words would take a third of a second: only words that this password can contain. */
function rankWords(list: readonly (string | number)[], canContain: (word: string) => boolean) {
  const ranks: Record<string, number> = {};
  for (const [at, entry] of list.entries()) {
    const word = String(entry);
    if (canContain(word)) ranks[word] = at + 1;
  }
  return ranks;
}

/** By length and letters, with those that others may stand for, as 4 for a. */
function createFilter(password: string, replaced: Readonly<Record<string, readonly string[]>>) {
  const lower = password.toLowerCase();
  const letters = Object.keys(replaced).filter((letter) =>
    replaced[letter]?.some((text) => lower.includes(text)),
  );
  const codes = new Set([...lower.split(''), ...letters].map((each) => each.charCodeAt(0)));
  return (word: string) => {
    if (word.length > password.length) return false;
    for (let at = 0; at < word.length; at++) if (!codes.has(word.charCodeAt(at))) return false;
    return true;
  };
}
