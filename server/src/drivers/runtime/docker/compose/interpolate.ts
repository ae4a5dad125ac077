type Variables = Readonly<Record<string, string>>;

const reference = /\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^{}]*))?\})/g;

/** `${NAME}` as compose reads it, of the app's own variables and never of the server's. */
export function interpolate(text: string, variables: Variables): string {
  return text.replace(reference, (_, dollar, bare, name, operator: string | undefined, rest = '') => {
    if (dollar) return '$';
    const found = variables[bare ?? name];
    const isThere = found !== undefined && !(operator?.startsWith(':') && found === '');
    switch (operator?.at(-1)) {
      case '-':
        return isThere ? found : rest;
      case '+':
        return isThere ? rest : '';
      case '?':
        if (!isThere) throw new RangeError(`${name} is not set${rest ? `: ${rest}` : ''}.`);
        return found;
      default:
        return found ?? '';
    }
  });
}

/** Everything that is text, however deep. */
export function interpolateAll<T>(value: T, variables: Variables): T {
  return eachText(value, (text) => interpolate(text, variables));
}

/** As the compose tool has to find it, so that it reads no reference in it. */
export const withoutReferences = <T>(value: T): T => eachText(value, (text) => text.replaceAll('$', '$$$$'));

function eachText<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((each) => eachText(each, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, eachText(each, change)])) as T;
}
