import { passwordCharsMin } from '@svc/contract/identity.ts';
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
  const { score, feedback } = (await loadEstimate())(password, [...about, ...about.flatMap(words)]);
  if (score < scoreMin)
    throw validationError(
      'password',
      ['is too easy to guess', feedback.warning].filter(Boolean).join(': ').replace(/\.$/, ''),
      'too_common',
    );
  return password;
}

const words = (text: string) => text.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2);

type Estimate = typeof import('@zxcvbn-ts/core')['zxcvbn'];

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
    zxcvbnOptions.setOptions({
      dictionary: { ...common.dictionary, ...english.dictionary },
      graphs: common.adjacencyGraphs,
      translations: english.translations,
    });
    return zxcvbn;
  })();
  return loading;
}
