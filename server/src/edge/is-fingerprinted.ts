import { extensionOf } from './media-types.ts';

const code = ['js', 'mjs', 'cjs', 'css'];
/** What people hardly name by hand: only there, a text like `iPhone15Pro` is taken for a hash. */
const built = [...code, 'wasm', 'woff2', 'woff', 'ttf', 'otf', 'eot'];
/** What build tools name by its content. People put numbers into names of documents. */
const assets: readonly string[] = [
  ...built,
  ...['svg', 'png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'ico', 'mp4', 'webm', 'mp3', 'ogg'],
];

/**
 * Whether the name holds a hash of the content, so that it never stands for anything else: then browsers need not ask
 * again. A hash that is not seen costs a question; a word that is taken for one, a year of an old picture.
 */
export function isFingerprinted(path: string): boolean {
  const own = path.replace(/\.map$/i, '');
  const extension = extensionOf(own);
  if (!assets.includes(extension)) return false;
  const name = own.slice(own.lastIndexOf('/') + 1, -extension.length - 1);
  const [, last = ''] = /[._-]([A-Za-z0-9]{8,64})$/.exec(name) ?? [];
  if (/^[0-9a-f]+$/.test(last) && /\d/.test(last) && /[a-f]/.test(last)) return true;
  if (built.includes(extension) && isRandomText(last)) return true;
  // Eight characters of base64url, as Vite writes them, may hold the very characters that part words.
  const [, eight = ''] = (code.includes(extension) && /[._-]([A-Za-z0-9_-]{8})$/.exec(name)) || [];
  return isRandomText(eight);
}

/** Large and small letters and digits, and not only digits behind words, as in `Holiday2024`. */
function isRandomText(text: string): boolean {
  return text.length >= 8 && /[A-Z]/.test(text) && /[a-z]/.test(text) && /\d[_-]*[A-Za-z]/.test(text);
}
