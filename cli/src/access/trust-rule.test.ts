import { expect, test } from 'bun:test';
import { trustRule } from './trust-rule.ts';

test('a repository at GitHub or GitLab is an issuer and its claims', () => {
  expect(trustRule({ github: 'acme/shop' })).toMatchObject({
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository: 'acme/shop' },
  });
  expect(trustRule({ github: 'acme/shop@release/v1' }).claims).toEqual({
    repository: 'acme/shop',
    ref: 'refs/heads/release/v1',
  });
  expect(trustRule({ github: 'acme/shop@refs/tags/*' }).claims.ref).toBe('refs/tags/*');
  expect(trustRule({ gitlab: 'acme/web/shop@main', issuer: 'https://gitlab.acme.example/' })).toMatchObject({
    issuer: 'https://gitlab.acme.example',
    claims: { project_path: 'acme/web/shop', ref_type: 'branch', ref: 'main' },
  });
  expect(trustRule({ gitlab: 'acme/shop@refs/tags/v*' })).toMatchObject({
    issuer: 'https://gitlab.com',
    claims: { project_path: 'acme/shop', ref_type: 'tag', ref: 'v*' },
  });
  expect(trustRule({ gitlab: 'acme/shop@refs/heads/main' }).claims).toMatchObject({
    ref_type: 'branch',
    ref: 'main',
  });
  expect(trustRule({ github: 'acme/shop', claim: ['environment=production'] }).claims).toEqual({
    repository: 'acme/shop',
    environment: 'production',
  });
});

test('nothing is trusted without a claim, or by a pattern in place of a repository', () => {
  expect(() => trustRule({ issuer: 'https://ci.example' })).toThrow('would trust everybody');
  for (const github of ['acme', '*/shop', 'acme/shop@', 'https://github.com/acme/shop'])
    expect(() => trustRule({ github })).toThrow('is not a repository');
  expect(() => trustRule({ issuer: 'https://ci.example', claim: ['sub'] })).toThrow('name=pattern');
});
