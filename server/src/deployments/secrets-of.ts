/** What an app's variables hold that must not be read in a log, which itself knows which are too short to hide. */
export function secretsOf(env: Readonly<Record<string, string>>): string[] {
  return Object.entries(env)
    .filter(([name]) => !plainNames.test(name))
    .map(([, value]) => value);
}

/** Known to all who see the app. */
const plainNames = /^(?:SVC_.*|NODE_ENV)$/;
