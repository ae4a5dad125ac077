import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { logout } from './login.ts';
import {
  type Config,
  type Credentials,
  configDir,
  configFile,
  credentialsFile,
  parseBaseUrl,
  profileName,
  readProfiles,
} from './profile.ts';
import { changeConfig, withLock } from './profile-store.ts';
import { baseUrlDefault } from './session.ts';

export interface ProfileEntry {
  name: string;
  current: boolean;
  base_url: string;
  tenant: string | null;
  logged_in: boolean;
}

export async function listProfiles(ctx: Ctx): Promise<ProfileEntry[]> {
  const dir = configDir(ctx.io.env);
  const config = await readProfiles<Config>(dir, configFile);
  const credentials = await readProfiles<Credentials>(dir, credentialsFile);
  const current = profileName(ctx.globals.profile, config);
  const names = new Set([...Object.keys(config.profiles), ...Object.keys(credentials.profiles), current]);
  return [...names].sort().map((name) => {
    const { base_url, tenant } = config.profiles[name] ?? {};
    const login = credentials.profiles[name];
    return {
      name,
      current: name === current,
      base_url: base_url ?? login?.base_url ?? baseUrlDefault,
      tenant: tenant?.slug ?? null,
      logged_in: login !== undefined,
    };
  });
}

export async function useProfile(ctx: Ctx, name: string): Promise<ProfileEntry> {
  const entry = await findProfile(ctx, name);
  await change(ctx, (config) => {
    config.current_profile = name;
  });
  if (ctx.io.env.SVC_PROFILE) ctx.note(`SVC_PROFILE is set to ${ctx.io.env.SVC_PROFILE} and overrides it.`);
  return { ...entry, current: true };
}

export async function addProfile(
  ctx: Ctx,
  requested: string,
  { baseUrl, use }: { baseUrl: string; use: boolean },
): Promise<ProfileEntry> {
  const base_url = parseBaseUrl(baseUrl, '--base-url');
  const name = profileName(requested, { profiles: {} });
  await change(ctx, (config) => {
    if (config.profiles[name] !== undefined)
      throw new CliError(
        'profile_exists',
        `Profile ${name} already exists (${config.profiles[name].base_url}).`,
        {
          next: `Change it with svc config set base-url ${base_url} --profile ${name}.`,
        },
      );
    config.profiles[name] = { base_url };
    if (use) config.current_profile = name;
  });
  return findProfile(ctx, name);
}

export async function removeProfile(ctx: Ctx, name: string): Promise<void> {
  await findProfile(ctx, name);
  await logout({ ...ctx, note: () => undefined, globals: { ...ctx.globals, profile: name } });
  await change(ctx, (config) => {
    delete config.profiles[name];
    if (config.current_profile === name) delete config.current_profile;
  });
}

async function findProfile(ctx: Ctx, name: string): Promise<ProfileEntry> {
  const all = await listProfiles(ctx);
  const found = all.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  throw new CliError('profile_not_found', `There is no profile ${JSON.stringify(name)}.`, {
    next: `Profiles: ${all.map((entry) => entry.name).join(', ')}. Add one with svc profiles add.`,
  });
}

async function change(ctx: Ctx, edit: (config: Config) => void): Promise<void> {
  const dir = configDir(ctx.io.env);
  await withLock(dir, ctx.signal, () => changeConfig(dir, edit));
}
