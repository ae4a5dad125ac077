import { passwordCharsMin } from '@svc/contract/identity.ts';
import { type Html, html } from '../../../core/html.ts';
import { alert, cross, exclamation, type Page, passkeyForm, tick } from './layout.ts';

interface InteractionView {
  action: string;
  formTargets: readonly string[];
}

export interface LoginPage extends InteractionView {
  clientName: string;
  email: string;
  error: string | null;
  upstreamName: string | null;
  hasPasswords: boolean;
  passkey: object | null;
  canReset: boolean;
  /** An app's sign-in can be cancelled; our own pages have nowhere to return to. */
  canCancel: boolean;
}

export function loginPage(view: LoginPage): Page {
  return {
    title: 'Sign in',
    formTargets: view.formTargets,
    hasPasskeys: view.passkey !== null,
    main: html`<h1>Sign in</h1>
<p class="lead">to continue to <strong>${view.clientName}</strong></p>
${alert(view.error)}
${view.hasPasswords && passwordForm(view)}
${view.passkey && passkeyForm({ action: `${view.action}/passkey`, kind: 'get', options: view.passkey, label: 'Use a passkey' })}
${
  view.upstreamName !== null &&
  html`${view.hasPasswords && html`<div class="or">or</div>`}
<a class="button quiet" href="${view.action}/upstream">Continue with ${view.upstreamName}</a>`
}
${view.canCancel && buttonForm(`${view.action}/abort`, 'Cancel', { style: 'button quiet' })}`,
  };
}

function passwordForm(view: LoginPage): Html {
  const focusPassword = view.email !== '';
  return html`<form method="post" action="${view.action}/login">
<div class="field">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="320" required value="${view.email}"${focusPassword ? null : html` autofocus`}>
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${focusPassword ? html` autofocus` : null}>
</div>
<button class="button" type="submit">Sign in</button>
</form>
${view.canReset && html`<p class="note"><a href="/login/forgot">Forgot your password?</a></p>`}`;
}

const scopeTexts: Record<string, string> = {
  openid: 'Identify your account',
  email: 'See your e-mail address',
  profile: 'See your name',
  offline_access: 'Stay signed in until you sign out',
};

interface ConsentPage extends InteractionView {
  clientName: string;
  signedInAs: string;
  scopes: readonly string[];
}

export function consentPage(view: ConsentPage): Page {
  return {
    title: `Allow ${view.clientName}?`,
    formTargets: view.formTargets,
    main: html`<h1>Allow ${view.clientName}?</h1>
<p class="lead">Signed in as <strong>${view.signedInAs}</strong>. The app will be able to:</p>
${tickedList(view.scopes.map((scope) => scopeTexts[scope] ?? scope))}
${buttonForm(`${view.action}/confirm`, 'Allow')}
${buttonForm(`${view.action}/abort`, 'Cancel', { style: 'button quiet' })}
<p class="note">The app never sees your password.</p>`,
  };
}

interface AppConsentPage extends InteractionView {
  appName: string;
  signedInAs: string;
  targetHost: string;
  /** Set for a loopback address, where any local program can claim to be the app. */
  isLoopback: boolean;
}

const appConsentTexts = [
  'It can read and change rows in its tables on your behalf.',
  'It can see your name and your e-mail address.',
  'It has no access to your account. Signing out ends its access.',
];

export function appConsentPage(view: AppConsentPage): Page {
  return {
    title: `Sign in to ${view.appName}`,
    formTargets: view.formTargets,
    main: html`<h1>${view.appName} wants to sign you in</h1>
<p class="lead">Signed in as <strong>${view.signedInAs}</strong>. <a href="/oauth/session/end">Not you?</a></p>
${tickedList(appConsentTexts)}
${buttonForm(`${view.action}/confirm`, 'Allow')}
${buttonForm(`${view.action}/abort`, 'Deny', { style: 'button quiet' })}
<p class="note">You will be redirected to <strong>${view.targetHost}</strong>. ${
      view.isLoopback && html`That is a program on your computer: allow it only if you started it yourself.`
    }</p>`,
  };
}

export function logoutPage({ action, xsrf, formTargets }: InteractionView & { xsrf: string }): Page {
  return {
    title: 'Sign out',
    formTargets,
    main: html`<h1>Sign out?</h1>
<p class="lead">You will be signed out in this browser. Devices and command-line tools stay signed in.</p>
${buttonForm(action, 'Sign out', { inputs: { xsrf, logout: 'yes' } })}
${buttonForm(action, 'Stay signed in', { style: 'button quiet', inputs: { xsrf } })}`,
  };
}

export function loggedOutPage(): Page {
  return {
    title: 'Signed out',
    main: html`<div class="mark good">${tick}</div>
<h1>You are signed out</h1>
<p class="lead">You can close this page.</p>
<form method="get" action="/login"><button class="button quiet" type="submit">Sign in again</button></form>`,
  };
}

interface MessagePage {
  title: string;
  text: string;
  requestId: string;
  link?: { href: string; label: string };
}

export function messagePage(view: MessagePage): Page {
  return {
    title: view.title,
    main: html`<div class="mark bad">${exclamation}</div>
<h1>${view.title}</h1>
<p class="lead">${view.text}</p>
${view.link && html`<a class="button quiet" href="${view.link.href}">${view.link.label}</a>`}
<p class="trace">Request <code>${view.requestId}</code></p>`,
  };
}

export function continuePage(view: InteractionView & { inputs: Record<string, string> }): Page {
  return {
    title: 'Continue',
    formTargets: view.formTargets,
    main: html`<h1>One more step</h1>
<p class="lead">Press the button to continue.</p>
${buttonForm(view.action, 'Continue', { inputs: view.inputs, focus: true })}`,
  };
}

interface DeviceForm {
  action: string;
  xsrf: string;
}

export function deviceCodePage(view: DeviceForm & { userCode: string; error: string | null }): Page {
  return {
    title: 'Connect a device',
    main: html`<h1>Connect a device</h1>
<p class="lead">Enter the code that your terminal or device shows.</p>
${alert(view.error)}
<form method="post" action="${view.action}">
<input type="hidden" name="xsrf" value="${view.xsrf}">
<div class="field">
<label for="user_code">Code</label>
<input class="code" id="user_code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="16" placeholder="XXXX-XXXX" required autofocus value="${view.userCode}">
</div>
<button class="button" type="submit">Continue</button>
</form>
<p class="note">Only enter a code from a device in front of you. Nobody from support will ever send you one.</p>`,
  };
}

export interface DeviceConfirmPage extends DeviceForm {
  clientName: string;
  userCode: string;
  enteredCode: string;
  signedInAs: string | null;
  requestedFrom: string | null;
}

export function deviceConfirmPage(view: DeviceConfirmPage): Page {
  const inputs = { xsrf: view.xsrf, user_code: view.enteredCode };
  return {
    title: 'Confirm the sign-in',
    main: html`<h1>Confirm the sign-in</h1>
<p class="lead"><strong>${view.clientName}</strong> requests access on your behalf.</p>
<div class="compare">
<p id="compare">Does your device show this code?</p>
<output aria-labelledby="compare">${view.userCode}</output>
</div>
<dl class="facts">
${view.signedInAs !== null && html`<div><dt>Signed in as</dt><dd>${view.signedInAs} <a href="/oauth/session/end">Not you?</a></dd></div>`}
${view.requestedFrom !== null && html`<div><dt>Requested from</dt><dd>${view.requestedFrom}</dd></div>`}
</dl>
${buttonForm(view.action, 'Approve', { inputs: { ...inputs, confirm: 'yes' } })}
${buttonForm(view.action, 'Deny', { style: 'button quiet', inputs: { ...inputs, abort: 'yes' } })}
<p class="note">If you did not start this, or the codes differ, deny it.</p>`,
  };
}

export function deviceDonePage(view: { clientName: string }): Page {
  return {
    title: 'Signed in',
    main: html`<div class="mark good">${tick}</div>
<h1>You are signed in</h1>
<p class="lead"><strong>${view.clientName}</strong> now has access on your behalf. You can close this page and return to your device.</p>`,
  };
}

export function deviceDeniedPage(): Page {
  return {
    title: 'Denied',
    main: html`<div class="mark bad">${cross}</div>
<h1>The sign-in was denied</h1>
<p class="lead">The device has no access. You can close this page.</p>
<p class="note">If someone sent you the code, tell your administrator.</p>`,
  };
}

export function forgotPage(view: { email: string; error: string | null }): Page {
  return {
    title: 'Forgot your password?',
    main: html`<h1>Forgot your password?</h1>
<p class="lead">Enter your e-mail address to get a link that sets a new one.</p>
${alert(view.error)}
<form method="post" action="/login/forgot">
<div class="field">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="320" required autofocus value="${view.email}">
</div>
<button class="button" type="submit">Send the link</button>
</form>
<p class="note"><a href="/login">Back to sign-in</a></p>`,
  };
}

export function noticePage(view: {
  title: string;
  text: string;
  link?: { href: string; label: string };
}): Page {
  return {
    title: view.title,
    main: html`<div class="mark good">${tick}</div>
<h1>${view.title}</h1>
<p class="lead">${view.text}</p>
${view.link && html`<a class="button quiet" href="${view.link.href}">${view.link.label}</a>`}`,
  };
}

export function resetPage(view: { token: string; error: string | null }): Page {
  return {
    title: 'Set a new password',
    main: html`<h1>Set a new password</h1>
<p class="lead">At least ${passwordCharsMin} characters. A few unrelated words are easy to remember and hard to guess.</p>
${alert(view.error)}
<form method="post" action="/login/reset">
<input type="hidden" name="token" value="${view.token}">
<div class="field">
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="${String(passwordCharsMin)}" maxlength="1024" required autofocus>
</div>
<div class="field">
<label for="repeated">Repeat the new password</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" maxlength="1024" required>
</div>
<button class="button" type="submit">Set the password</button>
</form>
<p class="note">You will be signed out everywhere.</p>`,
  };
}

function tickedList(texts: readonly string[]): Html {
  return html`<ul class="scopes">
${texts.map((text) => html`<li>${tick}<span>${text}</span></li>`)}
</ul>`;
}

interface ButtonForm {
  style?: 'button' | 'button quiet';
  inputs?: Record<string, string>;
  focus?: boolean;
}

function buttonForm(action: string, label: string, options: ButtonForm = {}): Html {
  const { style = 'button', inputs = {}, focus = false } = options;
  return html`<form method="post" action="${action}">
${Object.entries(inputs).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="${style}" type="submit"${focus && html` autofocus`}>${label}</button>
</form>`;
}
