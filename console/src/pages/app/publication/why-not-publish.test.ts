import { expect, test } from 'bun:test';
import { whyNotPublish } from './why-not-publish.ts';

const fit = {
  record: 'active',
  runtime: 'running',
  deployment_status: 'deployed',
  visibility: 'private',
} as const;
const none = { hasOpen: false, hasStaged: false };

test('what runs and is not for everybody can be published', () => {
  expect(whyNotPublish(fit, none)).toBeNull();
  expect(whyNotPublish({ ...fit, visibility: 'public' }, none)).toBeNull();
});

test('each state in which nothing can be published says what to do first', () => {
  expect(whyNotPublish({ ...fit, record: 'archived' }, none)).toContain('reactivate');
  expect(whyNotPublish({ ...fit, record: 'deleted' }, none)).toContain('restore');
  expect(whyNotPublish({ ...fit, runtime: 'suspended' }, none)).toContain('resume');
  expect(whyNotPublish({ ...fit, visibility: 'internet' }, none)).toContain('already');
  expect(whyNotPublish(fit, { ...none, hasOpen: true })).toContain('withdraw');
  expect(whyNotPublish({ ...fit, deployment_status: 'draft' }, none)).toContain('deploy');
});

test('what is staged can be published before anything is live', () => {
  expect(whyNotPublish({ ...fit, deployment_status: 'draft' }, { ...none, hasStaged: true })).toBeNull();
});
