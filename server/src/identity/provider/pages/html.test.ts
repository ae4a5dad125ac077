import { expect, test } from 'bun:test';
import { html } from '../../../core/html.ts';
import { formTarget, renderPage } from './layout.ts';

test('values are escaped in text and attributes, unless html`` made them', () => {
  const nasty = `<script>"'&\``;
  expect(String(html`<p title="${nasty}">${nasty}</p>`)).toBe(
    '<p title="&#60;script&#62;&#34;&#39;&#38;&#96;">&#60;script&#62;&#34;&#39;&#38;&#96;</p>',
  );
  expect(
    String(html`${html`<b>${'<'}</b>`}${[html`<i>1</i>`, html`<i>2</i>`]}${null}${undefined}${false}${0}`),
  ).toBe('<b>&#60;</b><i>1</i><i>2</i>0');
  const lookalike = JSON.parse('{"text":"<script>"}');
  expect(() => String(html`${lookalike}`)).toThrow();
});

test('a form target is an origin or a custom scheme, and cannot change the policy', () => {
  expect(formTarget('https://app.example.test:8443/x?y')).toEqual(['https://app.example.test:8443']);
  expect(formTarget('http://[::1]:5000/')).toEqual(['http://[::1]:5000']);
  expect(formTarget('com.example.app:/back')).toEqual(['com.example.app:']);
  expect(formTarget('https://a;script-src *')).toEqual([]);
  expect(formTarget('not an address')).toEqual([]);
});

test("the content security policy allows only the page's own style", async () => {
  const { body, headers } = renderPage({ title: 'x', main: html`y` });
  const style = /<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? '';
  const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64');
  expect(headers['content-security-policy']).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  );
});
