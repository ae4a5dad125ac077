import { authModes, deployMethods } from '@svc/contract/apps.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import type { Flags } from '../command.ts';

/** What may be said of an app, at first and later. */
export const appSettingFlags = {
  'auth-mode': { type: 'enum', values: authModes, summary: 'How the app itself knows who calls it' },
  'cost-center': { type: 'string', summary: 'Label that costs are counted under' },
  'data-scopes': {
    type: 'list',
    placeholder: 'scope',
    summary: 'Data that the app asks for; empty for none',
  },
  description: { type: 'string', summary: 'What it is, at length; empty for none' },
  'icon-url': { type: 'string', placeholder: 'url', summary: 'Icon on a light ground' },
  'icon-dark-url': { type: 'string', placeholder: 'url', summary: 'Icon on a dark ground' },
  'resource-tier': {
    type: 'enum',
    values: resourceTiers,
    summary: "Resource tier, up to the tenant's highest",
  },
  subdomain: { type: 'string', placeholder: 'name', summary: 'Host below the apps domain' },
  summary: { type: 'string', summary: 'What it is, in one line of 60 characters; empty for none' },
} as const satisfies Flags;

export const deployMethodFlag = {
  'deploy-method': {
    type: 'enum',
    values: deployMethods,
    summary: 'How it is deployed, which can not change later (docker)',
  },
} as const satisfies Flags;

interface SettingValues {
  'auth-mode'?: (typeof authModes)[number] | undefined;
  'cost-center'?: string | undefined;
  'data-scopes'?: string[] | undefined;
  description?: string | undefined;
  'icon-url'?: string | undefined;
  'icon-dark-url'?: string | undefined;
  name?: string | undefined;
  'resource-tier'?: (typeof resourceTiers)[number] | undefined;
  subdomain?: string | undefined;
  summary?: string | undefined;
}

/** As the API calls them. What is not given is not there. */
export function appSettings(flags: SettingValues) {
  return {
    name: flags.name,
    summary: flags.summary,
    description: flags.description,
    subdomain: flags.subdomain,
    auth_mode: flags['auth-mode'],
    data_scopes: flags['data-scopes'],
    resource_preset: flags['resource-tier'],
    cost_center: flags['cost-center'],
    // An empty address is none, as with the other texts.
    icon_url: flags['icon-url'] === '' ? null : flags['icon-url'],
    icon_dark_url: flags['icon-dark-url'] === '' ? null : flags['icon-dark-url'],
  };
}
