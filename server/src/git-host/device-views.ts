import { html } from '../identity/pages/html.ts';
import { cross, type Page, tick } from '../identity/pages/layout.ts';
import type { DeviceCodeRow } from './device-store.ts';

export interface ConfirmView {
  action: string;
  userCode: string;
  signedInAs: string;
  /** Anybody who knows the address of the host can ask for a code: the person is told who did. */
  asked: Pick<DeviceCodeRow, 'asked_by' | 'asked_from' | 'created_at'>;
}

export function confirmPage(view: ConfirmView): Page {
  const { asked_by, asked_from, created_at } = view.asked;
  const hidden = html`<input type="hidden" name="user_code" value="${view.userCode}">`;
  return {
    title: 'Link your git account',
    main: html`<h1>Link your git account</h1>
<p class="lead">A program asks to read and change your repositories as you.</p>
<div class="compare">
<p id="compare">Does your device show this very code?</p>
<output aria-labelledby="compare">${view.userCode}</output>
</div>
<dl class="facts">
<div><dt>It calls itself</dt><dd>${asked_by === '' ? 'nothing' : asked_by}</dd></div>
<div><dt>It asked from</dt><dd>${asked_from}${/^(127\.|::1$)/.test(asked_from) && ' (this server itself, or a proxy before it)'}</dd></div>
<div><dt>It asked at</dt><dd>${created_at.toISOString().slice(0, 16).replace('T', ' ')} UTC</dd></div>
<div><dt>Signed in as</dt><dd>${view.signedInAs} <a href="/oauth/session/end">Not you?</a></dd></div>
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
<p class="note">Approve only what you have started yourself, just now. If somebody sent you the code, they would get your repositories: deny it.</p>`,
  };
}

export function donePage(): Page {
  return {
    title: 'Linked',
    main: html`<div class="mark good">${tick}</div>
<h1>Your git account is linked</h1>
<p class="lead">You may close this page and go back to your device.</p>`,
  };
}

export function deniedPage(): Page {
  return {
    title: 'Denied',
    main: html`<div class="mark bad">${cross}</div>
<h1>It was denied</h1>
<p class="lead">The device got no access. You may close this page.</p>
<p class="note">If someone sent you the code, tell your administrator.</p>`,
  };
}
