import { html } from '../identity/pages/html.ts';
import { cross, type Page, tick } from '../identity/pages/layout.ts';

export function confirmPage(view: { action: string; userCode: string; signedInAs: string }): Page {
  const hidden = html`<input type="hidden" name="user_code" value="${view.userCode}">`;
  return {
    title: 'Link your git account',
    main: html`<h1>Link your git account</h1>
<p class="lead"><strong>svc</strong> asks to reach your repositories as you.</p>
<div class="compare">
<p id="compare">Does your device show this very code?</p>
<output aria-labelledby="compare">${view.userCode}</output>
</div>
<dl class="facts">
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
<p class="note">If you did not start this, or the codes differ, deny it.</p>`,
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
