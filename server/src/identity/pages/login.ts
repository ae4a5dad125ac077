import { html } from './html.ts';
import { alert, type Page } from './layout.ts';

export interface LoginPage {
  /** The address of the interaction; forms post below it. */
  action: string;
  clientName: string;
  email: string;
  error: string | null;
  /** The outside provider, by the name the operator gave it. */
  upstreamName: string | null;
  /** An app that sent the visitor here takes them back when they give up; our own pages have nowhere to go back to. */
  canCancel: boolean;
  formTargets: readonly string[];
}

export function loginPage(view: LoginPage): Page {
  const focusPassword = view.email !== '';
  return {
    title: 'Sign in',
    formTargets: view.formTargets,
    main: html`<h1>Sign in</h1>
<p class="lead">to continue to <strong>${view.clientName}</strong></p>
${alert(view.error)}
<form method="post" action="${view.action}/login">
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
${
  view.upstreamName !== null &&
  html`<div class="or">or</div>
<a class="button quiet" href="${view.action}/upstream">Continue with ${view.upstreamName}</a>`
}
${view.canCancel && html`<form method="post" action="${view.action}/abort"><button class="button quiet" type="submit">Cancel</button></form>`}`,
  };
}
