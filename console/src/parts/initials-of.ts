const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Two signs for who has no picture; a sign is what people see as one, however it is written. */
export function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const chosen = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return chosen
    .map((word) => firstOf(word ?? ''))
    .join('')
    .toUpperCase();
}

function firstOf(word: string): string {
  const [first] = letters.segment(word);
  return first?.segment ?? '';
}
