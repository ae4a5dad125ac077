import { type RefObject, useEffect, useRef } from 'react';
import { isFocusLost } from './use-returned-focus.ts';

const fields = 'input, textarea, select';

/**
 * A form that takes the place of the button which opens it takes the keyboard as well, and leaves it to that button
 * (the one that says `data-opens` with the same name) when it goes.
 */
export function useFormFocus(name: string): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (isFocusLost()) form.current?.querySelector<HTMLElement>(fields)?.focus();
    return () => {
      // The button comes back with the very change that takes the form away.
      if (isFocusLost()) document.querySelector<HTMLElement>(`[data-opens="${name}"]`)?.focus();
    };
  }, [name]);
  return form;
}
