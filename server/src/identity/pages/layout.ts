import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';
import { style } from './style.ts';

/** What a page shows. Where its forms may lead is part of it: browsers hold forms, and their redirects, to that list. */
export interface Page {
  title: string;
  main: Html;
  /** Origins besides our own that a form may end at. */
  formTargets?: readonly string[];
}

export interface RenderedPage {
  body: string;
  headers: Record<string, string>;
}

const styleHash = createHash('sha256').update(style).digest('base64');

export function renderPage(page: Page): RenderedPage {
  return { body: documentOf(page), headers: { ...pageHeaders, 'content-security-policy': policyOf(page) } };
}

export function pageResponse(
  page: Page,
  init: { status: number; headers?: Record<string, string> },
): Response {
  const { body, headers } = renderPage(page);
  return new Response(body, { status: init.status, headers: { ...headers, ...init.headers } });
}

/** The only origin of an address that a form may end at; an app's own scheme counts as a whole. */
export function formTarget(address: string): string[] {
  const url = URL.parse(address);
  if (!url) return [];
  const source = url.origin === 'null' ? url.protocol : url.origin;
  // It ends up inside a header: nothing that could end the directive.
  return /^[a-z][a-z0-9+.-]*:(?:\/\/[a-z0-9.:[\]-]+)?$/i.test(source) ? [source] : [];
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

function policyOf(page: Page): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    ["form-action 'self'", ...(page.formTargets ?? [])].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function documentOf(page: Page): string {
  // The sheet is a constant of ours and must reach the page as it was hashed.
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
<div class="brand">${logo}<span>svc</span></div>
<main>
${page.main}
</main>
</div>
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
