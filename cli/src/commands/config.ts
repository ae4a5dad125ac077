import { defineCommand, objectSchema } from '../command.ts';
import { configKeys } from '../session/config-keys.ts';

const settingOutput = objectSchema({
  key: 'string',
  value: { type: ['string', 'null'] },
  from: 'string',
});
const keyPositional = { name: 'key', summary: 'Name of the setting', values: configKeys } as const;
const about =
  'The settings are profile (the active profile), base-url and tenant (of the active profile) and output (table or wide).';
const view = { columns: ['key', 'value', 'from'] };

export const configList = defineCommand({
  words: 'config list',
  summary: 'List the settings of svc, and where each value comes from',
  description: about,
  kind: 'local',
  output: { type: 'array', items: settingOutput },
  view,
  run: async (ctx) => ({ value: await (await import('../session/settings.ts')).listSettings(ctx) }),
  examples: { '': 'List all settings' },
});

export const configGet = defineCommand({
  words: 'config get',
  summary: 'Print one setting of svc',
  description: about,
  kind: 'local',
  positionals: [keyPositional],
  output: settingOutput,
  run: async (ctx, { positionals }) => {
    const { listSettings } = await import('../session/settings.ts');
    const value = (await listSettings(ctx)).find(({ key }) => key === positionals.key);
    return { value, text: () => `${value?.value ?? ''}\n` };
  },
  examples: { 'base-url': 'Print the URL of the server' },
});

export const configSet = defineCommand({
  words: 'config set',
  summary: 'Change a setting of svc on this machine',
  description: about,
  kind: 'local',
  positionals: [keyPositional, { name: 'value', summary: 'Its new value' }],
  output: settingOutput,
  view,
  run: async (ctx, { positionals }) => {
    const { setSetting } = await import('../session/settings.ts');
    return { value: await setSetting(ctx, positionals.key, positionals.value) };
  },
  examples: {
    'output wide': 'Show all columns of tables',
    'base-url http://localhost:4400': 'Use another server',
  },
});

export const configUnset = defineCommand({
  words: 'config unset',
  summary: 'Return a setting of svc to its default',
  description: about,
  kind: 'local',
  positionals: [keyPositional],
  output: settingOutput,
  view,
  run: async (ctx, { positionals }) => {
    const { unsetSetting } = await import('../session/settings.ts');
    return { value: await unsetSetting(ctx, positionals.key) };
  },
  examples: { output: 'Show tables as they are by default' },
});
