import { expect, test } from 'bun:test';
import { failedTests } from './failed-tests.ts';

const report = `
a/first.test.ts:
(pass) is fine [0.05ms]
12 | expect([1, 2]).toEqual([1, 3]);
                    ^
error: expect(received).toEqual(expected)

      at <anonymous> (/a/first.test.ts:12:21)
(fail) outer > fails here [27.54ms]
(skip) is not looked at
error: oops
(fail) throws

b/second.test.ts:

# Unhandled error between tests
-------------------------------
error: too late
      at <anonymous> (/b/second.test.ts:3:1)
-------------------------------
(pass) goes on [12.01ms]

2 tests failed:
(fail) outer > fails here [27.54ms]
(fail) throws

 2 pass
 2 fail
`;

test('failed tests are listed once, by file and name, each with its output', () => {
  expect(failedTests(report)).toEqual([
    {
      file: './a/first.test.ts',
      name: 'a/first.test.ts > outer > fails here',
      text: `12 | expect([1, 2]).toEqual([1, 3]);
                    ^
error: expect(received).toEqual(expected)

      at <anonymous> (/a/first.test.ts:12:21)`,
    },
    { file: './a/first.test.ts', name: 'a/first.test.ts > throws', text: 'error: oops' },
    {
      file: './b/second.test.ts',
      name: 'b/second.test.ts > (between tests)',
      text: expect.stringContaining('error: too late'),
    },
  ]);
});

test('of a long text the end is kept', () => {
  const lines = Array.from({ length: 100 }, (_, at) => `line ${at}`);
  const [failed] = failedTests(['x.test.ts:', ...lines, '(fail) long'].join('\n'));
  expect(failed?.text.split('\n')).toEqual(lines.slice(-40));
});
