import pino, { type Logger } from 'pino';

/** Names under which a secret could stand in anything that is logged. */
const secretNames = [
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
];
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
      formatters: { level: (level) => ({ level }) },
      serializers: { err: describeError },
      redact: {
        paths: secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]),
        censor: '[redacted]',
      },
    },
    { write: (line: string) => options.write(redactText(line)) },
  );
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
