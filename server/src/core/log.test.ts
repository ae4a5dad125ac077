import { expect, test } from 'bun:test';
import { createLog } from './log.ts';
import { fail } from './problem.ts';

function logged(entry: object, text = 'x'): string {
  const lines: string[] = [];
  createLog({ level: 'info', write: (line) => lines.push(line) }).info(entry, text);
  return lines.join('');
}

test('secrets are redacted by field name at any depth', () => {
  const secret = 'hunter2hunter2';
  const line = logged({
    password: secret,
    headers: { Authorization: `Bearer ${secret}`, 'x-api-key': secret, cookie: secret },
    request: { body: { refresh_token: secret, list: [{ token: secret }] } },
  });
  expect(line).not.toContain(secret);
  expect(line).toContain('[redacted]');
});

test('tokens and passwords inside longer texts are redacted', () => {
  const line = logged(
    { err: new Error('connect to postgresql://svc_control:s3cr3tpw@/svc failed') },
    'sent svcpat_0123456789abcdefghijABCDEFGHIJ012345 and Bearer abc.def-ghi to /cb?code=topsecret1&x=1, /app-token/svcren_0123456789',
  );
  for (const secret of ['s3cr3tpw', 'svcpat_0123', 'svcren_0123', 'abc.def-ghi', 'topsecret1'])
    expect(line).not.toContain(secret);
});

test('neither a log nor a failure takes a stack trace, for which Bun would read the source map of the server', () => {
  const { captureStackTrace } = Error;
  let taken = 0;
  Error.captureStackTrace = (...args) => {
    taken++;
    captureStackTrace(...args);
  };
  try {
    createLog({ level: 'info', write: () => {} });
  } finally {
    Error.captureStackTrace = captureStackTrace;
  }
  expect(taken).toBe(0);
  expect(fail('not_found').stack).toBeUndefined();
  expect(new Error('kept').stack).toContain('log.test.ts');
});
