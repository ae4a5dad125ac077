/** Where the machine is found from within a container. */
const machine = 'host.docker.internal';
const loopback = /^([a-z]+:\/\/(?:[^@/]*@)?)(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?=[:/?]|$)(?![^/]*@)/i;
/** `SVC_BASE_URL` is not among them: it is also the platform's name, which stands in what it signs. */
const called = ['DATABASE_URL', 'SVC_USER_KEYS_URL', 'SVC_STORAGE_URL'];

/** Of what the platform gives: a loopback address means the machine, and in a container it would be the container. */
export function seenFromInside(given: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      called.includes(name) ? value.replace(loopback, `$1${machine}`) : value,
    ]),
  );
}
