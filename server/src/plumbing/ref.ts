const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Paths and bodies name things by id or by slug; slugs never have the form of a UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
