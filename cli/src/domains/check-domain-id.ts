/** A host in its place would be "not found", which is what a domain that is gone says. */
export function checkDomainId(id: string): string | undefined {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) return undefined;
  return '<domain-id> takes an id, not a host; svc apps domains list shows it.';
}
