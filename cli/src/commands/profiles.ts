import { defineCommand, objectSchema } from '../command.ts';

const profileOutput = objectSchema({
  name: 'string',
  current: 'boolean',
  base_url: 'string',
  tenant: { type: ['string', 'null'] },
  logged_in: 'boolean',
});
const profilePositional = { name: 'profile', summary: 'Name of the profile' } as const;
const view = { columns: ['name', 'current', 'base_url', 'tenant', 'logged_in'] };

export const profilesList = defineCommand({
  words: 'profiles list',
  summary: 'List the profiles of this machine',
  kind: 'local',
  output: { type: 'array', items: profileOutput },
  view,
  run: async (ctx) => ({ value: await (await import('../session/profiles.ts')).listProfiles(ctx) }),
  examples: { '': 'List the servers and which one is in use' },
});

export const profilesUse = defineCommand({
  words: 'profiles use',
  summary: 'Use a profile from now on',
  description: '--profile and SVC_PROFILE override it.',
  kind: 'local',
  positionals: [profilePositional],
  output: profileOutput,
  view,
  run: async (ctx, { positionals }) => {
    const { useProfile } = await import('../session/profiles.ts');
    const value = await useProfile(ctx, positionals.profile);
    return { value, text: () => `${value.name} is now the profile in use (${value.base_url}).\n` };
  },
  examples: { default: 'Use the first profile again' },
});

export const profilesAdd = defineCommand({
  words: 'profiles add',
  summary: 'Add a profile for a server; svc login then logs in to it',
  kind: 'local',
  positionals: [profilePositional],
  flags: {
    'base-url': {
      type: 'string',
      placeholder: 'url',
      required: true,
      filled: true,
      summary: 'URL of the server',
    },
    use: { type: 'boolean', summary: 'Use it from now on' },
  },
  output: profileOutput,
  view,
  run: async (ctx, { flags, positionals }) => {
    const { addProfile } = await import('../session/profiles.ts');
    const value = await addProfile(ctx, positionals.profile, {
      baseUrl: flags['base-url'],
      use: flags.use === true,
    });
    ctx.note(`Log in with svc login --profile ${value.name}`);
    return { value };
  },
  examples: { 'staging --base-url https://staging.example.com --use': 'Add a server and use it' },
});

export const profilesRemove = defineCommand({
  words: 'profiles remove',
  summary: 'Log out of a profile, and forget it',
  kind: 'local',
  positionals: [profilePositional],
  output: objectSchema({ removed: 'boolean', name: 'string' }),
  run: async (ctx, { positionals }) => {
    const { removeProfile } = await import('../session/profiles.ts');
    await removeProfile(ctx, positionals.profile);
    return {
      value: { removed: true, name: positionals.profile },
      text: () => `Profile ${positionals.profile} is removed.\n`,
    };
  },
  examples: { staging: 'Forget a server' },
});
