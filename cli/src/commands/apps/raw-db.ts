import { disableRawDb, enableRawDb, getRawDb, rotateRawDb } from '@svc/contract/raw-db.ts';
import { waitForRawDb } from '../../apps/raw-db.ts';
import { defineCommand } from '../../command.ts';
import { appFlag } from '../../inputs/common.ts';

export const appsRawDbEnable = defineCommand({
  words: 'apps raw-db enable',
  summary: 'Create a PostgreSQL database for an app',
  description:
    'The connection string is printed once. Deployments receive it as DATABASE_URL. --timeout limits the wait for the ' +
    'database; if it passes, the string is still printed and svc exits with 10.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: enableRawDb,
  present: (ctx, answer) => {
    if (answer.connection_string !== undefined)
      ctx.note('The connection string is shown only once. Store it safely.');
    return answer;
  },
  finish: (ctx, result, { params }) => waitForRawDb(ctx, result, { params, passing: 'creating' }),
  examples: {
    '--app pet-shop': 'Preview it',
    '--app pet-shop --execute': 'Create it and wait until it is ready',
  },
});

export const appsRawDbRotate = defineCommand({
  words: 'apps raw-db rotate',
  summary: "Change the password of an app's own PostgreSQL database",
  description:
    'The new connection string is printed once. The old one stops working, and open connections are closed. The ' +
    'password also changes automatically when somebody who has seen it stops being an owner; run this command to get ' +
    'the new one.',
  kind: 'mutate',
  flags: appFlag,
  endpoint: rotateRawDb,
  present: (ctx, answer) => {
    ctx.note('The connection string is shown only once. Store it safely.');
    return answer;
  },
  finish: (ctx, result, { params }) => waitForRawDb(ctx, result, { params, passing: 'creating' }),
  examples: {
    '--app pet-shop': 'Preview it',
    '--app pet-shop --execute': 'Change it and wait until it is in effect',
  },
});

export const appsRawDbDisable = defineCommand({
  words: 'apps raw-db disable',
  summary: "Drop an app's own PostgreSQL database with all its data",
  kind: 'mutate',
  flags: appFlag,
  endpoint: disableRawDb,
  finish: (ctx, result, { params }) => waitForRawDb(ctx, result, { params, passing: 'dropping' }),
  examples: {
    '--app pet-shop': 'Preview what would be lost',
    '--app pet-shop --execute': 'Drop it',
  },
});

export const appsRawDbStatus = defineCommand({
  words: 'apps raw-db status',
  summary: 'Show whether an app has its own PostgreSQL database, and where',
  kind: 'read',
  flags: appFlag,
  endpoint: getRawDb,
  examples: { '--app pet-shop': 'Show host and status; the password is never shown' },
});
