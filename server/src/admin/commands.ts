import { tenantRoles } from '@svc/contract/identity.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import { type Command, command } from './command.ts';

const passwordStdin = { means: 'read the password from standard input' };

/** Every command of the tool. What it does is loaded when it is called, so that each starts with only its own parts. */
export const commands: readonly Command[] = [
  command({
    words: 'tenants create',
    summary: 'Create a tenant',
    args: ['slug'],
    flags: {
      name: { means: 'the name people see (default: the slug)', value: 'name' },
      'max-resource-tier': {
        means: 'the largest tier its apps may have (default: L)',
        value: 'tier',
        oneOf: resourceTiers,
      },
    },
    load: () => import('./commands/tenants-create.ts'),
  }),
  command({
    words: 'tenants update',
    summary: 'Change the name of a tenant, or the largest tier its apps may have',
    args: ['tenant'],
    flags: {
      name: { means: 'the name people see', value: 'name' },
      'max-resource-tier': {
        means: 'the largest tier its apps may have; apps that have a larger one keep it',
        value: 'tier',
        oneOf: resourceTiers,
      },
    },
    load: () => import('./commands/tenants-update.ts'),
  }),
  command({
    words: 'tenants list',
    summary: 'List all tenants',
    args: [],
    flags: {},
    load: () => import('./commands/tenants-list.ts'),
  }),
  command({
    words: 'users create',
    summary: 'Create a user',
    args: ['email'],
    flags: {
      name: { means: 'the name people see (default: what stands before the @)', value: 'name' },
      'password-stdin': passwordStdin,
    },
    notes: 'Without a password the user signs in through an outside provider, or by a token that you issue.',
    load: () => import('./commands/users-create.ts'),
  }),
  command({
    words: 'users list',
    summary: 'List all users, of all tenants and of none',
    args: [],
    flags: {},
    load: () => import('./commands/users-list.ts'),
  }),
  command({
    words: 'users suspend',
    summary: 'End all sign-ins of a user and refuse new ones',
    args: ['user'],
    flags: {},
    load: () => import('./commands/users-suspend.ts'),
  }),
  command({
    words: 'users activate',
    summary: 'Let a suspended user sign in again',
    args: ['user'],
    flags: {},
    load: () => import('./commands/users-activate.ts'),
  }),
  command({
    words: 'users set-password',
    summary: 'Set the password of a user and end all sign-ins',
    args: ['user'],
    flags: { 'password-stdin': passwordStdin },
    load: () => import('./commands/users-set-password.ts'),
  }),
  command({
    words: 'members set',
    summary: 'Add a user to a tenant, change the role, or take the user out',
    args: [],
    flags: {
      tenant: { means: 'slug or id', value: 'tenant', required: true },
      user: { means: 'e-mail address or id', value: 'user', required: true },
      role: {
        means: 'the role from now on; none takes the user out',
        value: 'role',
        oneOf: [...tenantRoles, 'none'],
        required: true,
      },
    },
    load: () => import('./commands/members-set.ts'),
  }),
  command({
    words: 'tokens issue',
    summary: 'Issue an access token of the kind that a login gives, for automation and tests',
    args: [],
    flags: {
      user: { means: 'e-mail address or id', value: 'user', required: true },
      ttl: { means: 'how long it is valid, at most 24h, in whole seconds (default: 1h)', value: 'duration' },
    },
    load: () => import('./commands/tokens-issue.ts'),
  }),
  command({
    words: 'batch',
    summary: 'Run many commands, given as lines of JSON on standard input',
    args: [],
    flags: {},
    notes:
      'A line is an array of words: ["users", "create", "ada@example.com"]. Each is run, and answered by a line of ' +
      'JSON, as soon as it comes; with --json all answers come together at the end. The first that fails ends it.',
    load: () => import('./commands/batch.ts'),
  }),
  command({
    words: 'migrate',
    summary: 'Bring the database to the schema of this version',
    args: [],
    flags: {},
    load: () => import('./commands/migrate.ts'),
  }),
  command({
    words: 'doctor',
    summary: 'Check configuration, data and database, and say what to do',
    args: [],
    flags: {},
    notes: 'Exits 1 when there is a problem; warnings alone exit 0.',
    load: () => import('./commands/doctor.ts'),
  }),
  command({
    words: 'backup',
    summary: 'Write everything into one file, also while the server runs',
    args: [],
    flags: { to: { means: 'the file to write, e.g. svc-backup.tar.gz', value: 'file', required: true } },
    notes: 'The file holds all data and keys of the platform: keep it as safe as the platform itself.',
    load: () => import('./commands/backup.ts'),
  }),
  command({
    words: 'restore',
    summary: 'Load a backup, while no server runs',
    args: [],
    flags: {
      from: { means: 'a file written by backup', value: 'file', required: true },
      yes: { means: 'replace what is there' },
    },
    load: () => import('./commands/restore.ts'),
  }),
];
