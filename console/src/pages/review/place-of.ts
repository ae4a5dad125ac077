/** Where what is reviewed is to be found now; null while that is not known. */
export function placeOf(
  { release_id, deployment_id }: { release_id: string | null; deployment_id: string | null },
  known: {
    site?: { active_release: { id: string } | null; staged_release: { id: string } | null } | undefined;
    deployment?: { id: string; state: string } | undefined;
  },
): 'live' | 'staged' | 'gone' | null {
  if (release_id !== null) {
    if (!known.site) return null;
    if (known.site.active_release?.id === release_id) return 'live';
    return known.site.staged_release?.id === release_id ? 'staged' : 'gone';
  }
  if (deployment_id === null) return 'gone';
  if (!known.deployment) return null;
  return known.deployment.state === 'live' ? 'live' : 'gone';
}
