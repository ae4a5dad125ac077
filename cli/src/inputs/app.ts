import { authModes, deployMethods } from '@svc/contract/apps.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import type { Flags, FlagValues } from '../framework/declaration.ts';

export const appSettingFlags = {
  'auth-mode': { type: 'enum', values: authModes, summary: 'How the app authenticates its callers' },
  'cost-center': { type: 'string', summary: 'Cost center label' },
  'data-scopes': {
    type: 'list',
    placeholder: 'scope',
    summary: 'Data scopes that the app requests; empty clears them',
  },
  description: { type: 'string', summary: 'Long description; empty clears it' },
  'icon-url': {
    type: 'string',
    placeholder: 'url',
    summary: 'URL of an uploaded icon for light backgrounds',
  },
  'icon-dark-url': {
    type: 'string',
    placeholder: 'url',
    summary: 'URL of an uploaded icon for dark backgrounds',
  },
  'resource-tier': {
    type: 'enum',
    values: resourceTiers,
    summary: "Resource tier, up to the tenant's largest",
  },
  subdomain: { type: 'string', placeholder: 'name', summary: 'Host below the apps domain' },
  summary: { type: 'string', summary: 'Summary of at most 60 characters; empty clears it' },
} as const satisfies Flags;

export const deployMethodFlag = {
  'deploy-method': {
    type: 'enum',
    values: deployMethods,
    summary: 'Deploy method, which cannot change later (docker)',
  },
} as const satisfies Flags;

export function appSettings(flags: FlagValues<typeof appSettingFlags> & { name: string | undefined }) {
  return {
    name: flags.name,
    summary: flags.summary,
    description: flags.description,
    subdomain: flags.subdomain,
    auth_mode: flags['auth-mode'],
    data_scopes: flags['data-scopes'],
    resource_preset: flags['resource-tier'],
    cost_center: flags['cost-center'],
    icon_url: flags['icon-url'] === '' ? null : flags['icon-url'],
    icon_dark_url: flags['icon-dark-url'] === '' ? null : flags['icon-dark-url'],
  };
}
