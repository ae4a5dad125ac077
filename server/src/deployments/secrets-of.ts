/** What an app's variables hold that must not be read in a log: shorter ones would blot out ordinary words. */
export function secretsOf(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env)
    .filter(([name, value]) => value.length >= 6 && !plainNames.test(name))
    .map(([, value]) => value);
}

/** Known to all who see the app. */
const plainNames = /^(?:SVC_.*|NODE_ENV)$/;
