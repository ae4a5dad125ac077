import { z } from 'zod';
import { factorNameCharsMax } from './factors.ts';
import { displayName, timestamp, uuid } from './shapes.ts';

export const Factor = z.object({
  id: uuid,
  kind: z.enum(['passkey', 'totp']),
  name: z.string(),
  created_at: timestamp,
  last_used_at: z.string().meta({ description: 'RFC 3339, UTC; empty if never.' }),
});

const name = displayName(1, factorNameCharsMax);
const passwordBody = z.strictObject({ password: z.string().min(1).max(1024) });
const params = z.object({ factorID: uuid });
const recoveryCodes = z
  .array(z.string())
  .meta({ description: 'With the first factor only; each works once. Empty otherwise.' });
const added = Factor.extend({ recovery_codes: recoveryCodes });

export const listFactors = {
  answer: z.object({
    items: z.array(Factor),
    recovery_codes_left: z.int(),
    required: z.boolean().meta({ description: 'Whether one of your tenants requires a second factor.' }),
  }),
};

export const startPasskey = {
  body: passwordBody,
  answer: z.object({
    options: z
      .record(z.string(), z.unknown())
      .meta({ description: 'WebAuthn `PublicKeyCredentialCreationOptionsJSON`.' }),
  }),
};

export const addPasskey = {
  body: z.strictObject({
    name: name.default('Passkey'),
    response: z.record(z.string(), z.unknown()).meta({ description: 'WebAuthn `RegistrationResponseJSON`.' }),
  }),
  answer: added,
};

export const startTotp = {
  body: passwordBody,
  answer: z.object({
    secret: z.string().meta({ description: 'Base32, to type into the app.' }),
    uri: z.string().meta({ description: 'The `otpauth:` link.' }),
    qr_svg: z.string().meta({ description: 'The link as a QR code.' }),
  }),
};

export const addTotp = {
  body: z.strictObject({ name: name.default('Authenticator app'), code: z.string().min(1).max(20) }),
  answer: added,
};

export const resetRecoveryCodes = {
  body: passwordBody,
  answer: z.object({ recovery_codes: z.array(z.string()).meta({ description: 'Each works once.' }) }),
};

export const renameFactor = { params, body: z.strictObject({ name }), answer: Factor };
export const removeFactor = { params, body: passwordBody, answer: Factor };
