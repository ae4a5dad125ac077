/** Of a list flag that stands beside one for a single value; the server takes the two together. */
export function anyOfSummary(what: string, single: string): string {
  return `Any of these ${what}; with --${single} as well, any of all that are named`;
}
