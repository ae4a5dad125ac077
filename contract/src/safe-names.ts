/**
 * Characters that are invisible or change how the text around them is displayed: controls (Cc), format
 * characters such as bidirectional controls and zero-width characters (Cf), line and paragraph separators.
 * With them, two names look the same or a name reads as another one.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const safeNameExpected = 'must not contain control, invisible or text-direction characters';

export function isSafeName(text: string): boolean {
  return !unsafe.test(text);
}

/** Spaces, and characters that have no glyph; U+2800 is the empty pattern of Braille. */
const invisible = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

export function isBlank(text: string): boolean {
  return text.replace(invisible, '') === '';
}

/** Cleans names that the caller cannot correct, such as those of an outside identity provider. */
export function cleanName(text: string, charsMax: number): string {
  const cleaned = text
    .toWellFormed()
    .replace(/[\t\n\r\u0085\u2028\u2029]+/g, ' ')
    .replace(new RegExp(unsafe, 'gu'), '')
    .trim();
  return [...cleaned].slice(0, charsMax).join('').trim();
}
