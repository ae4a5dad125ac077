import { Mark } from '@mantine/core';

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The texts of a snippet, which is HTML with `<mark>` as its only element. Found words are at odd positions. */
export function snippetParts(html: string): string[] {
  return html
    .split(/<\/?mark>/)
    .map((part) => part.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity));
}

export function Snippet({ html }: { html: string }) {
  return (
    <span>
      {snippetParts(html).map((text, at) => {
        const key = `${at} ${text}`;
        return at % 2 === 1 ? <Mark key={key}>{text}</Mark> : <span key={key}>{text}</span>;
      })}
    </span>
  );
}
