import { html } from './html.ts';
import { type Page, tick } from './layout.ts';

export interface ConsentPage {
  action: string;
  clientName: string;
  signedInAs: string;
  scopes: readonly string[];
  formTargets: readonly string[];
}

const meanings: Record<string, string> = {
  openid: 'Know which account is yours',
  email: 'See your e-mail address',
  profile: 'See your name',
  offline_access: 'Stay signed in while you are away, until you end it',
};

export function consentPage(view: ConsentPage): Page {
  return {
    title: `Allow ${view.clientName}?`,
    formTargets: view.formTargets,
    main: html`<h1>Allow ${view.clientName}?</h1>
<p class="lead">Signed in as <strong>${view.signedInAs}</strong>. The app will be able to:</p>
<ul class="scopes">
${view.scopes.map((scope) => html`<li>${tick}<span>${meanings[scope] ?? scope}</span></li>`)}
</ul>
<form method="post" action="${view.action}/confirm"><button class="button" type="submit">Allow</button></form>
<form method="post" action="${view.action}/abort"><button class="button quiet" type="submit">Cancel</button></form>
<p class="note">Your password stays here; the app never sees it.</p>`,
  };
}
