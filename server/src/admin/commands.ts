import type { Flags } from '@svc/cli/framework/declaration.ts';
import type { Program } from '@svc/cli/framework/program.ts';
import { tenantRoles } from '@svc/contract/identity.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import { type AdminCommand, backupParts, declare } from './command.ts';

const loadPeople = () => import('./commands/people.ts');
const loadKeys = () => import('./commands/keys.ts');
const tenantFlag = { type: 'string', placeholder: 'tenant', required: true, summary: 'Slug or id' } as const;
const userFlag = { ...tenantFlag, placeholder: 'user', summary: 'E-mail address or id' } as const;
const fileFlag = { type: 'string', placeholder: 'file', required: true } as const;
const excludeFlag = {
  type: 'list',
  values: backupParts,
  summary: 'Leave out objects, raw databases of apps, or both',
} as const;
const tierFlag = { type: 'enum', values: resourceTiers } as const;
const passwordFlag = { type: 'boolean', summary: 'Read the password from standard input' } as const;
const nameFlag = { type: 'string', placeholder: 'name', summary: 'Display name' } as const;
const tenantPositional = { name: 'tenant', summary: 'Slug or id' } as const;
const userPositional = { name: 'user', summary: 'E-mail address or id' } as const;

const commands: readonly AdminCommand[] = [
  declare({
    words: 'tenants create',
    summary: 'Create a tenant',
    positionals: [{ name: 'slug', summary: 'Short name for commands and URLs' }],
    flags: {
      name: { ...nameFlag, summary: 'Display name (the slug)' },
      'max-resource-tier': { ...tierFlag, summary: 'Largest tier of its apps (L)' },
    },
    load: async () => (await loadPeople()).runCreateTenant,
  }),
  declare({
    words: 'tenants update',
    summary: "Change a tenant's name, the largest tier of its apps, or whether a second factor is required",
    positionals: [{ name: 'tenant', summary: 'Slug or id' }],
    flags: {
      name: nameFlag,
      'max-resource-tier': {
        ...tierFlag,
        summary: 'Largest tier of its apps; apps with a larger tier keep it',
      },
      'require-second-factor': {
        type: 'enum',
        values: ['yes', 'no'],
        summary: 'Whether members with a password need a passkey or an authenticator app',
      },
    },
    load: async () => (await loadPeople()).runUpdateTenant,
  }),
  declare({
    words: 'tenants list',
    summary: 'List all tenants',
    load: async () => (await loadPeople()).runListTenants,
  }),
  declare({
    words: 'users create',
    summary: 'Create a user',
    description:
      'A user without a password signs in through an external provider, or with a token that you issue.',
    positionals: [{ name: 'email', summary: 'E-mail address' }],
    flags: {
      name: { ...nameFlag, summary: 'Display name (the part before the @)' },
      'password-stdin': passwordFlag,
    },
    load: async () => (await loadPeople()).runCreateUser,
  }),
  declare({
    words: 'users list',
    summary: 'List all users, with or without a tenant',
    load: async () => (await loadPeople()).runListUsers,
  }),
  declare({
    words: 'users suspend',
    summary: "End all of a user's sessions and reject new sign-ins",
    positionals: [userPositional],
    load: async () => (await loadPeople()).runSuspendUser,
  }),
  declare({
    words: 'users activate',
    summary: 'Allow a suspended user to sign in again',
    positionals: [userPositional],
    load: async () => (await loadPeople()).runActivateUser,
  }),
  declare({
    words: 'users set-password',
    summary: "Set a user's password and end all sessions",
    positionals: [userPositional],
    flags: { 'password-stdin': passwordFlag },
    load: async () => (await loadPeople()).runSetPassword,
  }),
  declare({
    words: 'users reset-factors',
    summary: "Remove a user's passkeys, authenticator app and recovery codes",
    description: 'For somebody who has lost them. Make sure that it is the person who asks.',
    positionals: [userPositional],
    load: async () => (await loadPeople()).runResetFactors,
  }),
  declare({
    words: 'members set',
    summary: 'Add a user to a tenant, change the role, or remove the user',
    flags: {
      tenant: tenantFlag,
      user: userFlag,
      role: {
        type: 'enum',
        values: [...tenantRoles, 'none'],
        required: true,
        summary: 'New role; none removes the user',
      },
    },
    load: async () => (await loadPeople()).runSetMember,
  }),
  declare({
    words: 'tokens issue',
    summary: 'Issue an access token like that of a login, for automation and tests',
    flags: {
      user: userFlag,
      ttl: { type: 'duration', summary: 'Lifetime, at most 24h, in whole seconds (1h)' },
      through: {
        type: 'string',
        placeholder: 'tenant/app',
        summary: 'Issue the token of a sign-in through this app, for its rows instead of the API',
      },
    },
    load: async () => (await loadPeople()).runIssueToken,
  }),
  declare({
    words: 'scim-token create',
    summary: "Create a token for the directory of a tenant (SCIM), such as Okta's or Entra's",
    description:
      'The token is printed once. It manages the members and groups of this tenant and nothing else.',
    positionals: [tenantPositional],
    flags: { name: { ...nameFlag, summary: 'Name in lists and in the audit log (directory)' } },
    load: async () => (await loadPeople()).runCreateScimToken,
  }),
  declare({
    words: 'scim-token list',
    summary: 'List the directory tokens of a tenant',
    positionals: [tenantPositional],
    load: async () => (await loadPeople()).runListScimTokens,
  }),
  declare({
    words: 'scim-token revoke',
    summary: 'Revoke a directory token; it stops working at once',
    positionals: [tenantPositional, { name: 'token', summary: 'Id of the token, from scim-token list' }],
    load: async () => (await loadPeople()).runRevokeScimToken,
  }),
  declare({
    words: 'batch',
    summary: 'Run many commands, given as lines of JSON on standard input',
    description:
      'A line is an array of words: ["users", "create", "ada@example.com"]. Each command runs as soon as its line ' +
      'arrives, and is answered by a line of JSON; with --json all answers are printed at the end. The first failure ' +
      'stops the batch.',
    load: async () => (await import('./commands/batch.ts')).runBatch,
  }),
  declare({
    words: 'migrate',
    summary: 'Apply the database migrations of this version',
    load: async () => (await import('./commands/maintenance.ts')).runMigrate,
  }),
  declare({
    words: 'doctor',
    summary: 'Check configuration, data and database, and suggest fixes',
    description: 'Exits with 1 when there is a problem; warnings alone exit with 0.',
    load: async () => (await import('./commands/maintenance.ts')).runDoctor,
  }),
  declare({
    words: 'keys list',
    summary: 'List the keys of the platform, their generations and what they protect',
    load: async () => (await loadKeys()).runListKeys,
  }),
  declare({
    words: 'keys rotate',
    summary: 'Create a new generation of a key, also while the server runs',
    description:
      'Servers use the new generation as soon as all of them know it. What the previous one signed stays valid for its ' +
      'lifetime, and what it sealed is sealed again by a job of the server; then it is deleted.',
    positionals: [{ name: 'name', summary: 'Name of the key, as keys list shows it' }],
    load: async () => (await loadKeys()).runRotateKey,
  }),
  declare({
    words: 'keys create-master-key',
    summary: 'Write a new master key to a file',
    description:
      'Set SVC_MASTER_KEY_FILE to the file and restart the server: it then encrypts its keys in the database.',
    flags: { to: { ...fileFlag, summary: 'File to write; it must not exist' } },
    load: async () => (await loadKeys()).runCreateMasterKey,
  }),
  declare({
    words: 'keys rewrap',
    summary: 'Encrypt the keys of the platform with the current master key instead of a previous one',
    description:
      'SVC_MASTER_KEY_FILE names the current one; if it is not set, the keys are stored unencrypted. Servers that run ' +
      'read the file again, so it must have the same path for them.',
    flags: { 'from-file': { ...fileFlag, summary: 'File with the previous master key' } },
    load: async () => (await loadKeys()).runRewrapKeys,
  }),
  declare({
    words: 'backup',
    summary: 'Write everything into one file, also while the server runs',
    description:
      'The file contains all data and keys of the platform, the objects of its object store and the databases of apps: encrypt ' +
      'it with --recipient, or protect it like the platform itself. Keys that are encrypted with a master key stay so, and a ' +
      'restore needs the master key file.',
    flags: {
      to: { ...fileFlag, summary: 'File to write, such as svc-backup.tar.gz' },
      recipient: {
        type: 'string',
        repeated: true,
        placeholder: 'age1…',
        summary: 'Encrypt the file for this public key of age; may be repeated',
      },
      exclude: excludeFlag,
    },
    load: async () => (await import('./commands/backup.ts')).runBackup,
  }),
  declare({
    words: 'restore',
    summary: 'Load a backup while no server runs',
    flags: {
      from: { ...fileFlag, summary: 'File written by backup' },
      identity: {
        type: 'string',
        placeholder: 'file',
        summary: 'File with the secret key of age, for an encrypted backup',
      },
      exclude: excludeFlag,
      yes: { type: 'boolean', summary: 'Replace existing data' },
    },
    load: async () => (await import('./commands/backup.ts')).runRestore,
  }),
];

const globalFlags = {
  json: { type: 'boolean', summary: 'Print one JSON object' },
  help: { type: 'boolean', short: 'h', summary: 'Print help' },
  version: { type: 'boolean', summary: 'Print the version' },
} as const satisfies Flags;

export const svcAdmin: Program<AdminCommand> = {
  name: 'svc-admin',
  about: 'svc-admin operates the platform on the machine that has its database. It needs no login.',
  notes: [
    'svc-admin reads the same SVC_… environment variables as the server.',
    'Run svc-admin <command> --help for details.',
  ],
  commands: commands.map(({ words }) => words),
  groups: {
    tenants: { summary: 'Tenants' },
    users: { summary: 'Users' },
    members: { summary: 'Members of tenants' },
    tokens: { summary: 'Access tokens' },
    'scim-token': { summary: 'Tokens of directories (SCIM)' },
    keys: { summary: 'Keys of the platform and the master key' },
  },
  globalFlags,
  wordFlags: Object.assign({}, ...commands.map(({ flags }) => flags), globalFlags),
  listsAll: true,
  rejectsDuplicates: true,
  load: async (words) => {
    const found = commands.find((command) => command.words === words);
    if (found === undefined) throw new Error(`No command is registered as "${words}".`);
    return found;
  },
};
