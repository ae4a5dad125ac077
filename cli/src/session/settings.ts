import { getTenant } from '@svc/contract/tenants.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import type { configKeys } from './config-keys.ts';
import {
  type Config,
  configDir,
  configFile,
  isSameServer,
  parseBaseUrl,
  profileName,
  readProfiles,
  tableOutputs,
} from './profile.ts';
import { changeConfig, setActiveTenant, withLock } from './profile-store.ts';
import { useProfile } from './profiles.ts';
import { baseUrlDefault } from './session.ts';

type Key = (typeof configKeys)[number];

export interface Setting {
  key: string;
  value: string | null;
  from: string;
}

export async function listSettings(ctx: Ctx): Promise<Setting[]> {
  const { env } = ctx.io;
  const config = await readProfiles<Config>(configDir(env), configFile);
  const profile = profileName(ctx.globals.profile, config);
  const stored = config.profiles[profile];
  const baseUrl = env.SVC_BASE_URL || stored?.base_url || baseUrlDefault;
  const { tenant } = stored ?? {};
  const active = tenant !== undefined && isSameServer(tenant.base_url, baseUrl) ? tenant.slug : null;
  const from = (variable: string, isStored: boolean) =>
    env[variable] ? variable : isStored ? `profile ${profile}` : 'default';
  const said = ctx.globals.profile !== undefined && !env.SVC_PROFILE;
  return [
    {
      key: 'profile',
      value: profile,
      from: said
        ? '--profile'
        : env.SVC_PROFILE
          ? 'SVC_PROFILE'
          : config.current_profile
            ? configFile
            : 'default',
    },
    { key: 'base-url', value: baseUrl, from: from('SVC_BASE_URL', stored?.base_url !== undefined) },
    { key: 'tenant', value: env.SVC_TENANT || active, from: from('SVC_TENANT', active !== null) },
    { key: 'output', value: config.output ?? 'table', from: config.output ? configFile : 'default' },
  ];
}

export async function setSetting(ctx: Ctx, key: string, value: string): Promise<Setting> {
  switch (key as Key) {
    case 'profile':
      await useProfile(ctx, value);
      break;
    case 'tenant': {
      const { client } = await ctx.session();
      await setActiveTenant(ctx, await client.call(getTenant, { params: { tenantID: value } }));
      break;
    }
    case 'base-url': {
      const base_url = parseBaseUrl(value, 'base-url');
      await changeProfile(ctx, (config, profile) => {
        config.profiles[profile] = { ...config.profiles[profile], base_url };
      });
      break;
    }
    case 'output': {
      const output = tableOutputs.find((known) => known === value);
      if (output === undefined)
        throw usageError(`output is ${tableOutputs.join(' or ')}, not ${JSON.stringify(value)}.`);
      await changeProfile(ctx, (config) => {
        config.output = output;
      });
    }
  }
  return resulting(ctx, key, value);
}

export async function unsetSetting(ctx: Ctx, key: string): Promise<Setting> {
  await changeProfile(ctx, (config, profile) => {
    const stored = config.profiles[profile];
    if (key === 'profile') delete config.current_profile;
    if (key === 'output') delete config.output;
    if (key === 'base-url') delete stored?.base_url;
    if (key === 'tenant') delete stored?.tenant;
  });
  return resulting(ctx, key, undefined);
}

async function resulting(ctx: Ctx, key: string, requested: string | undefined): Promise<Setting> {
  const setting = (await listSettings(ctx)).find((it) => it.key === key) ?? {
    key,
    value: null,
    from: 'default',
  };
  if (requested !== undefined && setting.from.startsWith('SVC_'))
    ctx.note(`${setting.from} is set and overrides it.`);
  return setting;
}

async function changeProfile(ctx: Ctx, edit: (config: Config, profile: string) => void): Promise<void> {
  const dir = configDir(ctx.io.env);
  await withLock(dir, ctx.signal, () =>
    changeConfig(dir, (config) => edit(config, profileName(ctx.globals.profile, config))),
  );
}
