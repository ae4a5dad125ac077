/** About a key of a configuration that was given and has no effect any more. */
export function retiredNote(key: string): string {
  const why = key === 'visibility' ? visibilityRetired : serviceWorkersRetired;
  return `${key} is ignored: ${why}`;
}

export const visibilityRetired = 'who sees a site is said by the visibility of its app.';
export const serviceWorkersRetired = 'service workers are always blocked.';
