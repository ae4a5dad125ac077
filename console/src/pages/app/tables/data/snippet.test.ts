import { expect, test } from 'bun:test';
import { snippetParts } from './snippet.tsx';

test('a snippet is shown as text: found words apart, and no markup of the row', () => {
  expect(snippetParts('a &lt;b&gt; <mark>tea</mark> &amp;lt; pot')).toEqual(['a <b> ', 'tea', ' &lt; pot']);
  expect(snippetParts('')).toEqual(['']);
});
