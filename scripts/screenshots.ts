import { finish, runTests } from './run-tests.ts';

// `npm run screenshots [-- word]`: takes pictures of the console's pages whose name contains the word.
process.env.SVC_SCREENS = process.argv.slice(2).join(' ');
finish([
  await runTests('screenshots', ['./acceptance/console-screenshots.ts'], {
    processes: 1,
    testMsMax: 900_000,
  }),
]);
