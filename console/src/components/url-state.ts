import { useDebouncedCallback } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { useSearchParams } from 'wouter';

export function useUrlValue(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) => setSearch((before) => withUrlValue(before, name, value));
  return [search.get(name) ?? '', set];
}

export function withUrlValue(search: URLSearchParams, name: string, value: string): URLSearchParams {
  const changed = new URLSearchParams(search);
  if (value === '') changed.delete(name);
  else changed.set(name, value);
  if (name !== 'page') changed.delete('page');
  return changed;
}

export function usePage(): number {
  const [search] = useSearchParams();
  const page = Number(search.get('page') ?? '1');
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

export function useUrlChoice<T extends string>(
  name: string,
  fallback: T,
  known?: readonly T[],
): [T, (value: T) => void] {
  const [search, setSearch] = useSearchParams();
  const param = search.get(name) as T | null;
  const value = param === null || (known && !known.includes(param)) ? fallback : param;
  return [value, (next) => setSearch((before) => withUrlValue(before, name, next === fallback ? '' : next))];
}

/** A dialog whose subject is in the URL: its subject, a link that opens it, and what closes it. */
export function useUrlDialog(name: string) {
  const [search, setSearch] = useSearchParams();
  const without = (params: URLSearchParams) => {
    const next = new URLSearchParams(params);
    next.delete(name);
    return next;
  };
  const href = (value: string) => {
    const next = without(search);
    next.set(name, value);
    return `?${next}`;
  };
  return { value: search.get(name), href, close: () => setSearch(without, { replace: true }) };
}

const debounceMs = 250;

export function useUrlText(name: string): [string, (value: string) => void, string] {
  const [search, setSearch] = useSearchParams();
  const urlText = search.get(name) ?? '';
  const [state, setState] = useState<TypedText>({ text: urlText, rendered: urlText, sent: urlText });
  const path = useRef('');
  const typed = syncTypedText(state, urlText);
  if (typed !== state) setState(typed);
  const writeUrl = useDebouncedCallback((value: string) => {
    // A page that was left stays mounted until the next one is loaded, and must not change its URL.
    if (value !== typed.text || location.pathname !== path.current) return;
    setState((now) => ({ ...now, sent: value }));
    setSearch((before) => withUrlValue(before, name, value), { replace: true });
  }, debounceMs);
  const type = (value: string) => {
    path.current = location.pathname;
    setState((now) => ({ ...now, text: value }));
    writeUrl(value);
  };
  return [typed.text, type, urlText];
}

interface TypedText {
  text: string;
  rendered: string;
  sent: string;
}

/**
 * A URL value written by the input itself is ignored, because the user may have typed on; a link or the back button
 * replaces the text.
 */
export function syncTypedText(typed: TypedText, urlText: string): TypedText {
  if (urlText === typed.rendered) return typed;
  if (urlText === typed.sent) return { ...typed, rendered: urlText };
  return { text: urlText, rendered: urlText, sent: urlText };
}
