import { useDebouncedCallback } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import { followed, type TypedText } from './typed-text.ts';
import { withValue } from './use-search-value.ts';

const typedMs = 250;

/**
 * A filter that is typed: the address follows when the hand rests, and keeps no step for each letter; where the address
 * changes by itself the box follows it. What is in the box, what changes it, and what the address says.
 */
export function useSearchText(name: string): [string, (value: string) => void, string] {
  const [search, setSearch] = useSearchParams();
  const settled = search.get(name) ?? '';
  const [kept, setKept] = useState<TypedText>({ text: settled, seen: settled, sent: settled });
  const place = useRef('');
  const typed = followed(kept, settled);
  if (typed !== kept) setKept(typed);
  const settle = useDebouncedCallback((value: string) => {
    // Whoever went elsewhere meanwhile does not search there, and is not led back: a page that is left stays until the
    // next one is loaded.
    if (value !== typed.text || location.pathname !== place.current) return;
    setKept((now) => ({ ...now, sent: value }));
    setSearch((before) => withValue(before, name, value), { replace: true });
  }, typedMs);
  const type = (value: string) => {
    place.current = location.pathname;
    setKept((now) => ({ ...now, text: value }));
    settle(value);
  };
  return [typed.text, type, settled];
}
