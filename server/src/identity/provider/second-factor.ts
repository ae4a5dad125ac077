import { platformTenantId } from '../../core/context.ts';
import { Html, html } from '../../core/html.ts';
import { type OperatorDeps, runAs } from '../../core/mutation.ts';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { Failure, fail } from '../../core/problem.ts';
import { requiresSecondFactor } from '../../people/tenants/tenants.ts';
import { findUser, type UserRecord } from '../../people/users/users.ts';
import { recordAttempt, refundAttempt, signInLimits } from '../account/attempts.ts';
import { recordSignInEvent, type SignInMethod, userCaller } from '../account/sign-ins.ts';
import { findSecret, saveSecret, takeSecret } from '../account/tokens.ts';
import {
  type AddedFactor,
  addPasskey,
  addTotp,
  findTotpSetup,
  hasSecondFactor,
  listFactors,
  startTotp,
  verifyCode,
} from '../factors/factors.ts';
import {
  authenticationOptions,
  canUsePasskeys,
  registrationOptions,
  verifyAuthentication,
} from '../factors/passkeys.ts';
import { qrCode } from '../factors/totp.ts';
import { finishLogin, interactionPath, signInDetails, signInOrigin } from './finish-login.ts';
import type { InteractionDeps } from './interactions.ts';
import { alert, type Page, passkeyForm } from './pages/layout.ts';
import { readForm, redirect, showPage, type WebContext } from './web-context.ts';

interface FactorView {
  action: string;
  email: string;
  error: string | null;
  passkey: object | null;
}

function factorPage(view: FactorView & { hasApp: boolean }): Page {
  const label = view.hasApp ? 'Code of your authenticator app, or a recovery code' : 'Recovery code';
  return {
    title: 'Second factor',
    hasPasskeys: view.passkey !== null,
    main: html`<h1>Confirm that it is you</h1>
<p class="lead">Signing in as <strong>${view.email}</strong></p>
${alert(view.error)}
${view.passkey && passkeyForm({ action: `${view.action}/passkey`, kind: 'get', options: view.passkey, label: 'Use a passkey', style: 'button' })}
<form method="post" action="${view.action}/factor">
<div class="field">
<label for="code">${label}</label>
<input id="code" name="code" type="text" inputmode="${view.hasApp ? 'numeric' : 'text'}" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="40" required autofocus>
</div>
<button class="${view.passkey ? 'button quiet' : 'button'}" type="submit">Confirm</button>
</form>
${restartForm(view.action)}`,
  };
}

function addFactorPage(view: FactorView & { secret: string; qrSvg: string }): Page {
  const groups = view.secret.match(/.{1,4}/g) ?? [];
  return {
    title: 'Add a second factor',
    hasPasskeys: view.passkey !== null,
    main: html`<h1>Add a second factor</h1>
<p class="lead">Your organisation requires one for <strong>${view.email}</strong>.</p>
${alert(view.error)}
${
  view.passkey &&
  html`${passkeyForm({ action: `${view.action}/add-passkey`, kind: 'create', options: view.passkey, label: 'Create a passkey', style: 'button' })}
<div class="or">or with an authenticator app</div>`
}
<div class="qr">${new Html(view.qrSvg)}</div>
<p class="note">Scan the code with the app, or type this key: <code>${groups.join(' ')}</code></p>
<form method="post" action="${view.action}/totp">
<div class="field">
<label for="code">Code that the app shows</label>
<input id="code" name="code" type="text" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required>
</div>
<button class="${view.passkey ? 'button quiet' : 'button'}" type="submit">Add the app</button>
</form>
${restartForm(view.action)}`,
  };
}

function recoveryCodesPage(view: { action: string; codes: readonly string[] }): Page {
  return {
    title: 'Recovery codes',
    main: html`<h1>Store your recovery codes</h1>
<p class="lead">Each signs you in once when you cannot use your second factor. They are not shown again.</p>
<ul class="codes">
${view.codes.map((code) => html`<li><code>${code}</code></li>`)}
</ul>
<form method="post" action="${view.action}/continue"><button class="button" type="submit">I have stored them</button></form>`,
  };
}

function restartForm(action: string): Html {
  return html`<form method="post" action="${action}/restart"><button class="button quiet" type="submit">Sign in as somebody else</button></form>`;
}

type Interaction = Parameters<typeof finishLogin>[2];

/** `verify`: a factor is due. `add`: one must be added. `added`: the person has seen the recovery codes. */
type Step = 'verify' | 'add' | 'added';
interface Pending {
  user: UserRecord;
  step: Step;
  method: SignInMethod;
}

const pendingSeconds = 900;
const codeAttemptsMax = 5;
/** From unknown origins together: only somebody who knows the password gets here. */
const strangerAttemptsMax = 20;

const pendingKey = ({ uid }: { uid: string }) => ({ purpose: 'second_factor', secret: uid }) as const;

/** After the right password. False when the password is enough. */
export async function startSecondFactor(
  { db }: Pick<InteractionDeps, 'db'>,
  interaction: Interaction,
  user: UserRecord,
): Promise<boolean> {
  const userId = user.id;
  const hasFactor = (await listFactors(db, { userId })).length > 0;
  if (!hasFactor && !(await requiresSecondFactor(db, { userId }))) return false;
  await savePending(db, interaction, { user, step: hasFactor ? 'verify' : 'add', method: 'password' });
  return true;
}

function savePending(db: InteractionDeps['db'], interaction: Interaction, { user, step, method }: Pending) {
  const data = { userId: user.id, step, method };
  return saveSecret(db, { ...pendingKey(interaction), userId: null, data }, pendingSeconds);
}

async function findPending(deps: InteractionDeps, interaction: Interaction): Promise<Pending | null> {
  const found = await findSecret(deps.db, pendingKey(interaction));
  if (!found) return null;
  const user = await findUser(deps, { ref: String(found.data.userId) });
  if (user?.status !== 'active') return null;
  const stored = found.data.step as Step;
  // Somebody else may have begun this sign-in with the password, before the owner added a factor.
  const isDue = stored === 'add' && (await hasSecondFactor(deps.db, { userId: user.id }));
  return { user, step: isDue ? 'verify' : stored, method: found.data.method as SignInMethod };
}

export async function showSecondFactor(
  deps: InteractionDeps,
  ctx: WebContext,
  interaction: Interaction,
  retry: { status: number; error: string; headers?: Record<string, string> } | null = null,
): Promise<boolean> {
  const pending = await findPending(deps, interaction);
  if (!pending) return false;
  const { user, step } = pending;
  const view = { action: interactionPath(interaction), email: user.email, error: retry?.error ?? null };
  const status = retry?.status ?? 200;
  if (step === 'verify') {
    const kinds = (await listFactors(deps.db, { userId: user.id })).map(({ kind }) => kind);
    const hasPasskey = kinds.includes('passkey') && canUsePasskeys(deps.baseUrl);
    const passkey = hasPasskey ? await authenticationOptions(deps, { userId: user.id }) : null;
    showPage(ctx, factorPage({ ...view, passkey, hasApp: kinds.includes('totp') }), status, retry?.headers);
  } else {
    const setup =
      (await findTotpSetup(deps, user, interaction.uid)) ?? (await startTotp(deps, user, interaction.uid));
    const passkey = canUsePasskeys(deps.baseUrl) ? await registrationOptions(deps, user) : null;
    const page = addFactorPage({ ...view, passkey, secret: setup.secret, qrSvg: await qrCode(setup.uri) });
    showPage(ctx, page, status, retry?.headers);
  }
  return true;
}

/** A passkey alone is two factors: something one has, and what unlocks it. */
export async function signInWithPasskey(
  deps: InteractionDeps,
  ctx: WebContext,
  interaction: Interaction,
): Promise<'done' | 'refused'> {
  const pending = await findPending(deps, interaction);
  const userId = await verifyAuthentication(deps, {
    response: readJson((await readForm(ctx)).get('response')),
  });
  const user = userId === null ? null : await findUser(deps, { ref: userId });
  const isRight = user?.status === 'active' && (!pending || pending.user.id === user.id);
  if (!isRight || pending?.step === 'add') return 'refused';
  await takeSecret(deps.db, pendingKey(interaction));
  await finishLogin(deps, ctx, interaction, { user, method: pending ? 'password_and_passkey' : 'passkey' });
  return 'done';
}

export async function verifyFactor(deps: InteractionDeps, ctx: WebContext, interaction: Interaction) {
  const { db } = deps;
  const pending = await findPending(deps, interaction);
  if (pending?.step !== 'verify') return redirect(ctx, interactionPath(interaction));
  const { user } = pending;
  const { own, shared } = await signInLimits(db, user.email, signInOrigin(ctx));
  const limits = [
    { key: `factor:${own.key}`, max: codeAttemptsMax },
    ...(shared.length > 0 ? [{ key: `factor:user:${user.id}`, max: strangerAttemptsMax }] : []),
  ];
  const seconds = await recordAttempt(db, limits);
  if (seconds !== null) {
    const error = `Too many attempts. Wait ${seconds} seconds, then try again.`;
    const headers = { 'retry-after': String(seconds) };
    await showSecondFactor(deps, ctx, interaction, { status: 429, error, headers });
    return;
  }
  const code = (await readForm(ctx)).get('code') ?? '';
  const kind = await verifyCode(db, { userId: user.id, code, now: new Date() });
  if (kind === null) {
    const action = 'account.sign_in_failed';
    await recordSignInEvent(deps, { ...signInDetails(ctx), action, user, method: 'password_and_totp' });
    const error = 'The code is wrong, or was used before.';
    await showSecondFactor(deps, ctx, interaction, { status: 401, error });
    return;
  }
  await refundAttempt(db, limits);
  await takeSecret(db, pendingKey(interaction));
  await finishLogin(deps, ctx, interaction, { user, method: `password_and_${kind}` });
}

export async function addFactor(
  deps: InteractionDeps,
  ctx: WebContext,
  interaction: Interaction,
  kind: 'totp' | 'passkey',
): Promise<void> {
  const pending = await findPending(deps, interaction);
  if (pending?.step !== 'add') return redirect(ctx, interactionPath(interaction));
  const { user } = pending;
  const form = await readForm(ctx);
  const input = { userId: user.id, signIn: interaction.uid, baseUrl: deps.baseUrl };
  const change = { name: 'factors.add', auditTenantId: platformTenantId, ...signInDetails(ctx) };
  const operator: OperatorDeps = { ...deps, outbox: rowsOnlyOutbox };
  let result: AddedFactor;
  try {
    result = await runAs(operator, userCaller(user), change, (mutation) =>
      kind === 'totp'
        ? addTotp(mutation, { ...input, code: form.get('code') ?? '', name: 'Authenticator app' })
        : addPasskey(mutation, { ...input, response: readJson(form.get('response')), name: 'Passkey' }),
    );
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'invalid_factor') throw error;
    await showSecondFactor(deps, ctx, interaction, { status: 400, error: error.detail ?? 'Try again.' });
    return;
  }
  const method = kind === 'totp' ? 'password_and_totp' : 'password_and_passkey';
  await savePending(deps.db, interaction, { user, step: 'added', method });
  const action = interactionPath(interaction);
  showPage(ctx, recoveryCodesPage({ action, codes: result.recoveryCodes ?? [] }), 200);
}

export async function continueAfterSetup(deps: InteractionDeps, ctx: WebContext, interaction: Interaction) {
  const pending = await findPending(deps, interaction);
  if (pending?.step !== 'added') return redirect(ctx, interactionPath(interaction));
  await takeSecret(deps.db, pendingKey(interaction));
  await finishLogin(deps, ctx, interaction, pending);
}

export async function restartSignIn(deps: InteractionDeps, ctx: WebContext, interaction: Interaction) {
  await takeSecret(deps.db, pendingKey(interaction));
  redirect(ctx, interactionPath(interaction));
}

function readJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw fail('malformed_json');
  }
}
