import { expect, test } from 'bun:test';
import { nextStepOf } from './next-step.ts';
import { sparkline } from './sparkline.ts';

test('what an app waits for follows from its state', () => {
  const of = (record: 'active' | 'archived' | 'deleted', runtime: 'none' | 'running' | 'suspended') =>
    nextStepOf({ record, runtime, deployment_status: runtime === 'none' ? 'draft' : 'deployed' });
  expect([
    ...[of('active', 'none'), of('active', 'running'), of('active', 'suspended')],
    ...[of('archived', 'none'), of('archived', 'suspended'), of('deleted', 'suspended')],
  ]).toEqual(['deploy', null, 'resume', 'reactivate', 'reactivate', 'restore']);
});

test('a sparkline goes from edge to edge, the most at the top, and is flat where there is nothing', () => {
  const box = { width: 100, height: 20 };
  expect(sparkline([0, 5, 10], box)).toBe('0,20 50,10 100,0');
  expect(sparkline([0, 0], box)).toBe('0,20 100,20');
  expect(sparkline([3], box)).toBe('0,0');
});
