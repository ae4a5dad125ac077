import { ConfigError } from '../core/config-error.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function readPort(env: Environment, variable: string): number | null {
  const text = env[variable];
  if (!text) return null;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535)
    throw new ConfigError(variable, 'must be a port number.');
  return port;
}

export function readChoice<const T extends string>(
  env: Environment,
  variable: string,
  choices: readonly T[],
  fallback: T,
): T {
  const text = env[variable] || fallback;
  const choice = choices.find((item) => item === text);
  if (choice === undefined) throw new ConfigError(variable, `must be one of ${choices.join(', ')}.`);
  return choice;
}

export function requireMatch(variable: string, text: string, pattern: RegExp, problem: string): string {
  if (!pattern.test(text)) throw new ConfigError(variable, problem);
  return text;
}

export function requireVariable(env: Environment, variable: string, condition: string): string {
  const text = env[variable];
  if (!text) throw new ConfigError(variable, `is required ${condition}.`);
  return text;
}

export function parseVariable<T>(variable: string, parse: () => T, format?: string): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ConfigError(variable, format ? `${format}: ${error.message}.` : error.message);
  }
}
