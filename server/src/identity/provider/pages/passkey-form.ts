import { Html, html } from '../../../core/html.ts';

/**
 * The only script of our pages: it hands the options of a form to the authenticator, and sends what that answers. A
 * constant, whose hash the policy of the page allows.
 */
export const passkeyScript = `
for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const problem = form.querySelector('[role=alert]');
    problem.hidden = true;
    try {
      const publicKey = JSON.parse(form.dataset.options);
      publicKey.challenge = bytes(publicKey.challenge);
      if (publicKey.user) publicKey.user.id = bytes(publicKey.user.id);
      for (const item of [...(publicKey.allowCredentials ?? []), ...(publicKey.excludeCredentials ?? [])]) item.id = bytes(item.id);
      const isNew = form.dataset.passkey === 'create';
      const made = await (isNew ? navigator.credentials.create({ publicKey }) : navigator.credentials.get({ publicKey }));
      const { response } = made;
      const fields = isNew ? ['clientDataJSON', 'attestationObject'] : ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'];
      const sent = Object.fromEntries(fields.filter((name) => response[name]).map((name) => [name, text(response[name])]));
      if (isNew) sent.transports = response.getTransports ? response.getTransports() : [];
      form.elements.response.value = JSON.stringify({ id: made.id, rawId: text(made.rawId), type: made.type, clientExtensionResults: {}, response: sent });
      form.submit();
    } catch {
      problem.textContent = 'The passkey was not used. Try again, or choose another way.';
      problem.hidden = false;
    }
  });
}
`;

/** Hidden until the script has found that the browser knows passkeys. */
export function passkeyForm(view: {
  action: string;
  kind: 'get' | 'create';
  options: object;
  label: string;
  style?: 'button' | 'button quiet';
}): Html {
  return html`<form method="post" action="${view.action}" data-passkey="${view.kind}" data-options="${JSON.stringify(view.options)}" hidden>
<input type="hidden" name="response" value="">
<button class="${view.style ?? 'button quiet'}" type="submit">${view.label}</button>
<p class="alert" role="alert" hidden></p>
</form>`;
}

export const passkeyScriptTag = new Html(`<script>${passkeyScript}</script>`);
