import { Html, html } from '../../../core/html.ts';
import { alert, type Page } from './layout.ts';
import { passkeyForm } from './passkey-form.ts';

interface FactorView {
  action: string;
  email: string;
  error: string | null;
  /** Options for the authenticator; null where passkeys cannot be used. */
  passkey: object | null;
}

export function factorPage(view: FactorView & { hasApp: boolean }): Page {
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

export function addFactorPage(view: FactorView & { secret: string; qrSvg: string }): Page {
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

export function recoveryCodesPage(view: { action: string; codes: readonly string[] }): Page {
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
