import { html } from './html.ts';
import { type Page, tick } from './layout.ts';

export interface AppConsentPage {
  action: string;
  appName: string;
  signedInAs: string;
  /** The host that the person is led on to. */
  leadsTo: string;
  /** Set when that is this very machine, where any program can claim to be the app. */
  isLoopback: boolean;
  formTargets: readonly string[];
}

export function appConsentPage(view: AppConsentPage): Page {
  return {
    title: `Sign in to ${view.appName}`,
    formTargets: view.formTargets,
    main: html`<h1>${view.appName} wants to sign you in</h1>
<p class="lead">You are <strong>${view.signedInAs}</strong>. <a href="/oauth/session/end">Not you?</a></p>
<ul class="scopes">
<li>${tick}<span>It will be able to read and change your rows in its tables as you.</span></li>
<li>${tick}<span>It will see your name and your e-mail address.</span></li>
<li>${tick}<span>It gets rows and nothing else: your account stays out of its reach. Signing out ends it.</span></li>
</ul>
<form method="post" action="${view.action}/confirm"><button class="button" type="submit">Allow</button></form>
<form method="post" action="${view.action}/abort"><button class="button quiet" type="submit">Deny</button></form>
<p class="note">You will be led on to <strong>${view.leadsTo}</strong>. ${
      view.isLoopback &&
      html`That is a program on your own computer: allow it only if you have started it yourself.`
    }</p>`,
  };
}
