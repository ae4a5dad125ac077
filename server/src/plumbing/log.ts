import pino, { type Logger } from 'pino';

/** Names under which a secret could stand in anything that is logged. */
const secretNames = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'password',
  'secret',
  'client_secret',
  'access_token',
  'refresh_token',
  'id_token',
  'device_code',
  'user_code',
  'code_verifier',
  'token',
  'local_secret',
]);
/** Deeper than this nothing of ours is logged; what is, is left out. */
const depthMax = 5;
/** Secrets inside longer texts: tokens of ours, bearer values, passwords in connection strings. */
const secretTexts: readonly [RegExp, string][] = [
  [/svcpat_[0-9A-Za-z]+/g, 'svcpat_[redacted]'],
  [/(bearer\s+)[\w.~+/=-]+/gi, '$1[redacted]'],
  [/(:\/\/[^:/\s]+:)[^@/\s]+@/g, '$1[redacted]@'],
  [
    /((?:access_token|refresh_token|device_code|user_code|code_verifier|client_secret|password|code)=)[^&\s"]+/gi,
    '$1[redacted]',
  ],
];

export function createLog(options: { level: string; write: (line: string) => void }): Logger {
  return pino(
    {
      level: options.level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }), log: withoutSecrets, bindings: withoutSecrets },
      serializers: { err: describeError },
    },
    { write: (line: string) => options.write(redactText(line)) },
  );
}

/**
 * By name, at every depth. Not by pino's own redaction, which copies all that is logged before it looks: for the line of a
 * request that took longer than the rest of writing it.
 */
function withoutSecrets(entry: Record<string, unknown>): Record<string, unknown> {
  return hidden(entry, 0) as Record<string, unknown>;
}

function hidden(value: unknown, depth: number): unknown {
  // Errors are described by name, field by field.
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (depth > depthMax) return '[left out]';
  if (Array.isArray(value)) return value.map((item) => hidden(item, depth + 1));
  let copy: Record<string, unknown> | null = null;
  for (const [name, inner] of Object.entries(value)) {
    const shown = secretNames.has(name.toLowerCase()) ? '[redacted]' : hidden(inner, depth + 1);
    if (shown === inner) continue;
    copy ??= { ...value };
    copy[name] = shown;
  }
  return copy ?? value;
}

/** Named fields only: errors of the database driver carry its whole client, and what it was sent. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code, cause } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

export function redactText(text: string): string {
  return secretTexts.reduce((cleaned, [pattern, replacement]) => cleaned.replace(pattern, replacement), text);
}
