import { expect, test } from 'bun:test';
import { parseEnvFile, retainFixed } from './env-file.ts';

test('a file of variables is read as systemd reads it', () => {
  const text = `# A comment
SVC_LOG_LEVEL=warn
  export SVC_MAIL_FROM="svc <svc@example.com>"
SVC_OIDC_NAME='Our = login'

SVC_SEED=
`;
  expect(parseEnvFile(text)).toEqual({
    SVC_LOG_LEVEL: 'warn',
    SVC_MAIL_FROM: 'svc <svc@example.com>',
    SVC_OIDC_NAME: 'Our = login',
    SVC_SEED: '',
  });
  expect(() => parseEnvFile('SVC_PORT=1\nnonsense')).toThrow('line 2');
});

test('variables that need a restart keep their values', () => {
  const before = { SVC_PORT: '1', SVC_LOG_LEVEL: 'info', PATH: '/bin' };
  expect(retainFixed(before, { ...before, SVC_PORT: '2', SVC_WORKERS: '3', SVC_LOG_LEVEL: 'warn' })).toEqual({
    env: { PATH: '/bin', SVC_PORT: '1', SVC_WORKERS: undefined, SVC_LOG_LEVEL: 'warn' },
    ignored: ['SVC_PORT', 'SVC_WORKERS'],
  });
});
