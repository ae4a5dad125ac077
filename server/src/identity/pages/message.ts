import { html } from './html.ts';
import { exclamation, type Page } from './layout.ts';

export interface MessagePage {
  title: string;
  text: string;
  /** Finds the request in the log; shown so that it can be passed on. */
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

/** A form that the protocol sends on at once where scripts are allowed; ours are not, so a person presses the button. */
export function continuePage(view: {
  action: string;
  inputs: readonly { name: string; value: string }[];
  formTargets: readonly string[];
}): Page {
  return {
    title: 'Continue',
    formTargets: view.formTargets,
    main: html`<h1>One more step</h1>
<p class="lead">Press the button to go on.</p>
<form method="post" action="${view.action}">
${view.inputs.map((input) => html`<input type="hidden" name="${input.name}" value="${input.value}">`)}
<button class="button" type="submit" autofocus>Continue</button>
</form>`,
  };
}
