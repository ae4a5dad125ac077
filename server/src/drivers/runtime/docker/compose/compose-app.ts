export interface ComposeApp {
  services: Readonly<Record<string, ComposeService>>;
  volumes: readonly string[];
  main: { service: string; port: number };
}

export interface ComposeService {
  image: string | null;
  build: ComposeBuild | null;
  command: string | readonly string[] | null;
  entrypoint: string | readonly string[] | null;
  environment: Readonly<Record<string, string>>;
  healthcheck: Readonly<Record<string, unknown>> | null;
  workingDir: string | null;
  user: string | null;
  expose: readonly number[];
  volumes: readonly ComposeMount[];
  dependsOn: Readonly<Record<string, string>>;
}

export interface ComposeBuild {
  context: string;
  dockerfile: string;
  target: string | null;
  args: Readonly<Record<string, string>>;
}

export interface ComposeMount {
  volume: string;
  target: string;
  mode: 'rw' | 'ro';
}

export class ComposeError extends Error {
  constructor(service: string | null, key: string | null, why: string) {
    const where = [service === null ? null : `service ${service}`, key].filter((part) => part !== null);
    super(`The compose file${where.length > 0 ? `: ${where.join(': ')}` : ''} ${why}.`);
    this.name = 'RefusedCompose';
  }
}

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

export function interpolateAll<T>(value: T, variables: Variables): T {
  return eachText(value, (text) => interpolate(text, variables));
}

/** Escapes `$`, so that the compose tool does not interpolate. */
export const withoutReferences = <T>(value: T): T => eachText(value, (text) => text.replaceAll('$', '$$$$'));

function eachText<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((each) => eachText(each, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, eachText(each, change)])) as T;
}
