import { createHash } from 'node:crypto';
import { Html, html } from '../../../core/html.ts';

/** Passes the options of a form to the authenticator, and its answer on. A constant, whose hash the policy of the page allows. */
const passkeyScript = `
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

const passkeyScriptTag = new Html(`<script>${passkeyScript}</script>`);

/** `formTargets` is part of the page because browsers apply `form-action` to redirects as well. */
export interface Page {
  title: string;
  main: Html;
  formTargets?: readonly string[];
  hasPasskeys?: boolean;
}

/** Inline, so that a page is one request. */
const style = `
:root{color-scheme:light dark;--page:#f4f5f8;--card:#fff;--text:#15181f;--muted:#596172;--line:#d5d9e2;--field:#fff;
--edge:#868e9f;--accent:#3348c8;--accent-over:#2a3cad;--on-accent:#fff;--quiet-over:#eef0f6;--bad:#a3211a;--bad-back:#fdeeec;
--bad-line:#f2c6c1;--good:#12693a;--good-back:#e6f5ec;--shadow:0 1px 2px #0f172a14,0 12px 32px #0f172a14}
@media (prefers-color-scheme:dark){:root{--page:#0e1014;--card:#171a21;--text:#eceef3;--muted:#a0a8b8;--line:#2b303b;
--field:#101319;--edge:#6d7585;--accent:#8c9eff;--accent-over:#a5b3ff;--on-accent:#0d1230;--quiet-over:#222733;--bad:#ffb4ab;
--bad-back:#3a1b19;--bad-line:#6b2f2a;--good:#7fdca6;--good-back:#14301f;--shadow:none}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;align-items:center;
padding:2.5rem 1rem;background:var(--page);color:var(--text);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
.sheet{width:100%;max-width:26rem;margin:auto}
.brand{display:flex;align-items:center;gap:.5rem;margin:0 0 1rem .125rem;font-weight:650;letter-spacing:-.01em}
.brand svg{width:1.5rem;height:1.5rem;color:var(--accent)}
main{padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;box-shadow:var(--shadow)}
h1{margin:0;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.015em}
p{margin:.75rem 0 0;text-wrap:pretty}
.lead{margin:.375rem 0 0;color:var(--muted)}
.note{font-size:.875rem;color:var(--muted)}
strong{font-weight:600}
.lead strong{color:var(--text)}
form{margin:1.5rem 0 0}
form+form{margin-top:.75rem}
.field+.field{margin-top:1rem}
label{display:block;margin-bottom:.375rem;font-size:.9375rem;font-weight:550}
input{display:block;width:100%;min-height:3rem;padding:.5rem .875rem;color:inherit;background:var(--field);
border:1px solid var(--edge);border-radius:.625rem;font:inherit}
input.code{font:600 1.5rem/1.3 ui-monospace,"SFMono-Regular",Menlo,Consolas,monospace;letter-spacing:.12em;
text-align:center;text-transform:uppercase;min-height:3.75rem;padding:.5rem .25rem}
input.code::placeholder{color:var(--muted);opacity:.55}
.button{display:flex;align-items:center;justify-content:center;width:100%;min-height:3rem;padding:.5rem 1rem;
border:1px solid transparent;border-radius:.625rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;
color:var(--on-accent);background:var(--accent)}
.button:hover{background:var(--accent-over)}
.button.quiet{color:var(--text);background:transparent;border-color:var(--edge)}
.button.quiet:hover{background:var(--quiet-over)}
.field+.button,.facts+form{margin-top:1.5rem}
.button+.button{margin-top:.75rem}
.lead+.button{margin-top:1.5rem}
a{color:var(--accent);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.alert{margin:1.25rem 0 0;padding:.75rem .875rem;color:var(--bad);background:var(--bad-back);border:1px solid var(--bad-line);
border-radius:.625rem;font-size:.9375rem}
.or{display:flex;align-items:center;gap:.75rem;margin:1.5rem 0 1.25rem;color:var(--muted);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;height:1px;background:var(--line)}
.compare{margin:1.5rem 0 0;padding:1rem .5rem;background:var(--page);border:1px solid var(--line);border-radius:.75rem;text-align:center}
.compare p{margin:0;font-size:.875rem;color:var(--muted)}
.compare output{display:block;margin-top:.25rem;
font:650 clamp(1.5rem,8vw,2rem)/1.3 ui-monospace,"SFMono-Regular",Menlo,Consolas,monospace;letter-spacing:.08em;white-space:nowrap}
.facts{margin:1.25rem 0 0}
.facts div{padding:.625rem 0;border-bottom:1px solid var(--line)}
.facts dt{font-size:.8125rem;color:var(--muted)}
.facts dd{margin:0;display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
.scopes{margin:1.25rem 0 0;padding:0;list-style:none}
.scopes li{display:flex;gap:.625rem;padding:.5rem 0}
.scopes svg{flex:none;width:1.25rem;height:1.25rem;margin-top:.125rem;color:var(--good)}
.qr{display:flex;justify-content:center;margin:1.25rem 0 0}
.qr svg{border-radius:.5rem}
.codes{margin:1.25rem 0 0;padding:0;list-style:none;columns:2}
.codes code,.note code{font:.875rem ui-monospace,"SFMono-Regular",Menlo,Consolas,monospace;user-select:all}
.mark{display:grid;place-items:center;width:3rem;height:3rem;margin:0 0 1.25rem;border-radius:50%}
.mark svg{width:1.5rem;height:1.5rem}
.mark.good{color:var(--good);background:var(--good-back)}
.mark.bad{color:var(--bad);background:var(--bad-back)}
.trace{margin:1.5rem 0 0;font-size:.8125rem;color:var(--muted)}
.trace code{font:.8125rem ui-monospace,"SFMono-Regular",Menlo,Consolas,monospace;user-select:all}
@media (max-width:30rem){body{padding:1.25rem 1.25rem 2rem;background:var(--card)}.sheet{margin:0 auto}
main{padding:.75rem 0 0;border:0;box-shadow:none;background:none}.brand{margin-left:0}}
@media (prefers-contrast:more){:root{--muted:var(--text);--line:var(--edge)}}
@media print{.button,form{display:none}}
`;

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64');
const styleHash = hashOf(style);
const scriptHash = hashOf(passkeyScript);

export function renderPage(page: Page): { body: string; headers: Record<string, string> } {
  return {
    body: renderDocument(page),
    headers: { ...pageHeaders, 'content-security-policy': contentSecurityPolicy(page) },
  };
}

export function pageResponse(page: Page, init: { status: number; headers?: Record<string, string> }) {
  const { body, headers } = renderPage(page);
  return new Response(body, { status: init.status, headers: { ...headers, ...init.headers } });
}

/** The origin of a URL for `form-action`; a custom scheme as a whole. */
export function formTarget(address: string): string[] {
  const url = URL.parse(address);
  if (!url) return [];
  const source = url.origin === 'null' ? url.protocol : url.origin;
  // The value is part of a header: it must not be able to end the directive.
  return /^[a-z][a-z0-9+.-]*:(?:\/\/[a-z0-9.:[\]-]+)?$/i.test(source) ? [source] : [];
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

function contentSecurityPolicy(page: Page): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    ...(page.hasPasskeys ? [`script-src 'sha256-${scriptHash}'`] : []),
    ["form-action 'self'", ...(page.formTargets ?? [])].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function renderDocument(page: Page): string {
  // A constant: it must reach the page exactly as it was hashed.
  const sheet = new Html(`<style>${style}</style>`);
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title} · svc</title>
${sheet}
</head>
<body>
<div class="sheet">
<header class="brand">${logo}<span>svc</span></header>
<main>
${page.main}
</main>
</div>
${page.hasPasskeys && passkeyScriptTag}
</body>
</html>
`.toString();
}

const logo = html`<svg viewBox="0 0 24 24" fill="none" aria-hidden="true"><rect x="2" y="2" width="20" height="20" rx="6" fill="currentColor"/><path d="M7.5 9.5 10 12l-2.5 2.5M12.5 15h4" stroke="var(--card)" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

export const tick = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="m5 12.5 4.5 4.5L19 7.5"/></svg>`;
export const cross = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" aria-hidden="true"><path d="m7 7 10 10M17 7 7 17"/></svg>`;
export const exclamation = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" aria-hidden="true"><path d="M12 6v7.5M12 17.75v.01"/></svg>`;

export function alert(text: string | null): Html | null {
  return text === null ? null : html`<p class="alert" role="alert">${text}</p>`;
}
