import type { ConnectionSettings } from './store.ts';

/** The password goes to whoever answers there: a stored one must not be sent to another server, or less protected. */
export function needsPassword(before: ConnectionSettings, after: ConnectionSettings): boolean {
  return (['host', 'port', 'tls', 'ca_certificate'] as const).some((name) => before[name] !== after[name]);
}
