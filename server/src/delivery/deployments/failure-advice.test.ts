import { expect, test } from 'bun:test';
import { findAdvice } from './failure-advice.ts';

test.each([
  ["Error: Cannot find module 'express'", 'Add express to the dependencies in package.json.'],
  [
    "Cannot find package '@fastify/cors' imported from /app/x.js",
    'Add @fastify/cors to the dependencies in package.json.',
  ],
  [
    "Cannot find module '@astrojs/compiler-binding-linux-arm64-gnu'",
    'The package @astrojs/compiler-binding-linux-arm64-gnu for this machine was not downloaded: deploy again. If it stays so, add it to the optional dependencies in package.json.',
  ],
  ["ModuleNotFoundError: No module named 'flask'", 'Add flask to requirements.txt.'],
  [
    'npm error Missing script: "start"',
    'Add the script start to package.json, or set the command in svc.yaml.',
  ],
  [
    'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.',
    'The lock file does not match package.json: install again, and commit the lock file.',
  ],
  [
    'sh: 1: vite: not found',
    'The program vite is missing: add it to the dependencies, or change the command in svc.yaml.',
  ],
  [
    'Error: listen EADDRINUSE: address already in use :::3000',
    'The app opens a port twice: listen on PORT only.',
  ],
  [
    "Error: Cannot find module '/data/runtime/artifacts/01a1ebdb-11df-77da-98a4-bd47ebec415b/dist/server.cjs'",
    'The build has no file dist/server.cjs: correct start in svc.yaml, or the build that should make it.',
  ],
  [
    "Error: Cannot find module '/app/index.js'",
    'The build has no file app/index.js: correct start in svc.yaml, or the build that should make it.',
  ],
  ['Error: DATABASE_URL is not set', 'Set the variable: svc env set DATABASE_URL=… --app shop --execute.'],
  [
    'Missing required environment variable: STRIPE_KEY',
    'Set the variable: svc env set STRIPE_KEY=… --app shop --execute.',
  ],
])('%s', (line, advice) => {
  expect(findAdvice(['first', line, '    at Object.<anonymous> (/app/x.js:1:1)'], { app: 'shop' })).toBe(
    advice,
  );
});

test('a local file that does not exist is no dependency, and other lines give no advice', () => {
  expect(
    findAdvice(["Error: Cannot find module './missing'", 'exit 1', 'not found: 404 for GET /x'], {
      app: 'shop',
    }),
  ).toBeNull();
  expect(findAdvice([], { app: 'shop' })).toBeNull();
});
