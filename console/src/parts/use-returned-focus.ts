import { useEffect, useState } from 'react';

/** Once a window is gone the keyboard is back where it was; where that is gone too, at the beginning of the page. */
export function useReturnedFocus(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      // Who has been led elsewhere meanwhile stays there.
      if (!isFocusLost()) return;
      if (opener instanceof HTMLElement && opener !== document.body && opener.isConnected) opener.focus();
      else focusPageLast();
    },
    [opener],
  );
}

/** A page that knows a better place comes first: it looks for it within a frame. */
function focusPageLast(): void {
  const focusPage = () => {
    if (isFocusLost()) document.getElementById('page')?.focus({ preventScroll: true });
  };
  requestAnimationFrame(() => requestAnimationFrame(focusPage));
}

export function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}
