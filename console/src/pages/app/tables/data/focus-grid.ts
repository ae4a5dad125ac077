/** Where what had the keyboard is gone: back to the cell of the grid that it was on last. */
export function focusGrid(): void {
  // A dialog that closes gives the keyboard back first, if there is still something to give it to.
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('.grid tbody td[tabindex="0"]')?.focus();
  });
}
