import { html } from './html.ts';
import { alert, cross, type Page, tick } from './layout.ts';

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
  /** As it is to be sent back. */
  enteredCode: string;
  signedInAs: string | null;
  requestedFrom: string | null;
}

export function deviceConfirmPage(view: DeviceConfirmPage): Page {
  const hidden = html`<input type="hidden" name="xsrf" value="${view.xsrf}">
<input type="hidden" name="user_code" value="${view.enteredCode}">`;
  return {
    title: 'Confirm the sign-in',
    main: html`<h1>Confirm the sign-in</h1>
<p class="lead"><strong>${view.clientName}</strong> asks to act as you.</p>
<div class="compare">
<p id="compare">Does your device show this very code?</p>
<output aria-labelledby="compare">${view.userCode}</output>
</div>
<dl class="facts">
${view.signedInAs !== null && html`<div><dt>Signed in as</dt><dd>${view.signedInAs} <a href="/oauth/session/end">Not you?</a></dd></div>`}
${view.requestedFrom !== null && html`<div><dt>Requested from</dt><dd>${view.requestedFrom}</dd></div>`}
</dl>
<form method="post" action="${view.action}">
${hidden}
<input type="hidden" name="confirm" value="yes">
<button class="button" type="submit">Approve</button>
</form>
<form method="post" action="${view.action}">
${hidden}
<input type="hidden" name="abort" value="yes">
<button class="button quiet" type="submit">Deny</button>
</form>
<p class="note">If you did not start this, or the codes differ, deny it.</p>`,
  };
}

export function deviceDonePage(view: { clientName: string }): Page {
  return {
    title: 'Signed in',
    main: html`<div class="mark good">${tick}</div>
<h1>You are signed in</h1>
<p class="lead"><strong>${view.clientName}</strong> can act as you now. You may close this page and go back to your device.</p>`,
  };
}

export function deviceDeniedPage(): Page {
  return {
    title: 'Denied',
    main: html`<div class="mark bad">${cross}</div>
<h1>The sign-in was denied</h1>
<p class="lead">The device got no access. You may close this page.</p>
<p class="note">If someone sent you the code, tell your administrator.</p>`,
  };
}
