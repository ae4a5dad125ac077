import { html } from './html.ts';
import { type Page, tick } from './layout.ts';

export function logoutPage(view: { action: string; xsrf: string; formTargets: readonly string[] }): Page {
  const xsrf = html`<input type="hidden" name="xsrf" value="${view.xsrf}">`;
  return {
    title: 'Sign out',
    formTargets: view.formTargets,
    main: html`<h1>Sign out?</h1>
<p class="lead">You will be signed out in this browser. Devices and command-line tools stay signed in.</p>
<form method="post" action="${view.action}">
${xsrf}
<input type="hidden" name="logout" value="yes">
<button class="button" type="submit">Sign out</button>
</form>
<form method="post" action="${view.action}">
${xsrf}
<button class="button quiet" type="submit">Stay signed in</button>
</form>`,
  };
}

export function loggedOutPage(): Page {
  return {
    title: 'Signed out',
    main: html`<div class="mark good">${tick}</div>
<h1>You are signed out</h1>
<p class="lead">You may close this page.</p>
<form method="get" action="/login"><button class="button quiet" type="submit">Sign in again</button></form>`,
  };
}
