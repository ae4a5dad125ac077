import { html } from '../identity/pages/html.ts';
import type { Page } from '../identity/pages/layout.ts';

/** Names can be chosen to mislead; the address can not. */
export function confirmPage(view: {
  host: string;
  maker: { name: string; email: string };
  action: string;
}): Page {
  const title = `Continue to ${view.host} as ${view.maker.name}?`;
  return {
    title,
    main: html`<h1>${title}</h1>
<p class="lead">Another page sent you here to see this site as ${view.maker.email}. Go on only if that is what you want.</p>
<form method="post" action="${view.action}">
<button class="button" type="submit">Continue</button>
</form>
<a class="button quiet" href="/">Stay as you are</a>`,
  };
}
