import { expect, test } from 'bun:test';
import { describeBuild } from './build.ts';

test.each([
  [30, 10, 'PASS', 0],
  [31, 10, 'PASS', 0],
  [29.9, 10, 'MISS', 1],
  [10, 30, 'MISS', 1],
  [0, 0, 'MISS', 1],
])('a build of %p s, then %p s, with a goal of 3: %p, exit code %p', (cold, warm, verdict, exitCode) => {
  const described = describeBuild({ name: 'vite', cold, warm, goal: 3 });
  expect([described.exitCode, described.text]).toEqual([
    exitCode,
    expect.stringMatching(new RegExp(`goal 3: ${verdict}$`)),
  ]);
});
