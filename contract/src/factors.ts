import { act, change, read, update, who } from './endpoint.ts';
import type * as shapes from './factors.shapes.ts';

export const factorsMax = 20;
export const factorNameCharsMax = 100;
export const recoveryCodesCount = 10;

const own = {
  authority: { credential: 'login' },
  who: who('O:own C:own A:own M:own P:n N:n X:own'),
} as const;
const path = '/api/v1/me/factors';
const passwordErrors = ['wrong_password', 'no_password', 'rate_limited'] as const;

export const listFactors = read<typeof shapes.listFactors>()({
  id: 'factors.list',
  path,
  summary: 'List your passkeys and your authenticator app',
  ...own,
});

export const startPasskey = act<typeof shapes.startPasskey>()({
  id: 'factors.startPasskey',
  path: `${path}/passkeys/start`,
  summary: 'Get the options with which a browser creates a passkey; needs your password',
  ...own,
  errors: passwordErrors,
});

export const addPasskey = change<typeof shapes.addPasskey>()({
  id: 'factors.addPasskey',
  path: `${path}/passkeys`,
  summary: 'Add the passkey that the browser has created; the first factor comes with recovery codes',
  ...own,
  errors: ['invalid_factor', 'limit_reached'],
});

export const startTotp = act<typeof shapes.startTotp>()({
  id: 'factors.startTotp',
  path: `${path}/totp/start`,
  summary: 'Get the secret for an authenticator app; needs your password',
  ...own,
  errors: passwordErrors,
});

export const addTotp = change<typeof shapes.addTotp>()({
  id: 'factors.addTotp',
  path: `${path}/totp`,
  summary: 'Add the authenticator app that shows this code; it replaces an earlier one',
  ...own,
  errors: ['invalid_factor'],
});

export const resetRecoveryCodes = act<typeof shapes.resetRecoveryCodes>()({
  id: 'factors.resetRecoveryCodes',
  path: `${path}/recovery-codes`,
  summary: 'Replace your recovery codes; they are only in this response',
  ...own,
  irreversible: true,
  errors: ['invalid_factor', ...passwordErrors],
});

export const renameFactor = update<typeof shapes.renameFactor>()({
  id: 'factors.rename',
  path: `${path}/{factorID}`,
  summary: 'Rename a passkey or your authenticator app',
  ...own,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
});

export const removeFactor = act<typeof shapes.removeFactor>()({
  id: 'factors.remove',
  path: `${path}/{factorID}/remove`,
  summary: 'Remove a passkey or your authenticator app; needs your password',
  ...own,
  who: who('O:own C:own A:own M:own P:n N:n X:n'),
  irreversible: true,
  errors: ['factor_required', ...passwordErrors],
});
