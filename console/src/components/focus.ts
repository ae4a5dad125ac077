import { type RefObject, useEffect, useRef, useState } from 'react';

export function useRestoreFocus(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (!isFocusLost()) return;
      if (opener instanceof HTMLElement && opener !== document.body && opener.isConnected) opener.focus();
      else focusPageNext();
    },
    [opener],
  );
}

/** Two frames later, because a page with a better target focuses it within one. */
function focusPageNext(): void {
  const focusPage = () => {
    if (isFocusLost()) document.getElementById('page')?.focus({ preventScroll: true });
  };
  requestAnimationFrame(() => requestAnimationFrame(focusPage));
}

function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

const fieldSelector = 'input, textarea, select';

/**
 * Moves the focus into a form that replaces its opening button, and back to the button with the same `data-opens`.
 */
export function useFormFocus(name: string): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (isFocusLost()) form.current?.querySelector<HTMLElement>(fieldSelector)?.focus();
    return () => {
      // The button is rendered again by the same update that removes the form.
      if (isFocusLost()) document.querySelector<HTMLElement>(`[data-opens="${name}"]`)?.focus();
    };
  }, [name]);
  return form;
}
