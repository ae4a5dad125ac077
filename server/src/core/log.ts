import pino, { type Logger } from 'pino';

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
const depthMax = 5;
const secretTexts: readonly [RegExp, string][] = [
  [/(svc(?:pat|sat|app|ren)_)[0-9A-Za-z]+/g, '$1[redacted]'],
  [/(bearer\s+)[\w.~+/=-]+/gi, '$1[redacted]'],
  [/(:\/\/[^:/\s]+:)[^@/\s]+@/g, '$1[redacted]@'],
  [
    /((?:access_token|refresh_token|device_code|user_code|code_verifier|client_secret|password|code)=)[^&\s"]+/gi,
    '$1[redacted]',
  ],
];

export function createLog(options: { level: string; write: (line: string) => void }): Logger {
  return withoutStackTraces(() =>
    pino(
      {
        level: options.level,
        base: undefined,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }), log: redactFields, bindings: redactFields },
        serializers: { err: describeError },
      },
      { write: (line: string) => options.write(redactText(line)) },
    ),
  );
}

/** pino looks for its caller in a stack trace, for which Bun reads the source map of the whole server: a third of a start. */
function withoutStackTraces<T>(work: () => T): T {
  const { captureStackTrace } = Error;
  Error.captureStackTrace = (target) => void Object.assign(target, { stack: [] });
  try {
    return work();
  } finally {
    Error.captureStackTrace = captureStackTrace;
  }
}

/** Replaces pino's own redaction, which copies every entry first: that took longer than writing a request line. */
function redactFields(entry: Record<string, unknown>): Record<string, unknown> {
  return redactValue(entry, 0) as Record<string, unknown>;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (depth > depthMax) return '[omitted]';
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
  let copy: Record<string, unknown> | null = null;
  for (const [name, inner] of Object.entries(value)) {
    const redacted = secretNames.has(name.toLowerCase()) ? '[redacted]' : redactValue(inner, depth + 1);
    if (redacted === inner) continue;
    copy ??= { ...value };
    copy[name] = redacted;
  }
  return copy ?? value;
}

/** Picks fields by name: errors of the database driver carry the whole client and the parameters of the query. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { code, cause } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    code,
    stack: error.stack,
    cause: cause === undefined ? undefined : describeError(cause),
  };
}

function redactText(text: string): string {
  return secretTexts.reduce((cleaned, [pattern, replacement]) => cleaned.replace(pattern, replacement), text);
}
