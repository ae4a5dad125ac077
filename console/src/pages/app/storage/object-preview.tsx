import { Code, Image, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { previewKind } from './folder-paths.ts';

/** What is in it, where that can be seen at a glance. */
export function ObjectPreview({
  object,
}: {
  object: { key: string; url: string; sha256: string; content_type: string; size: number };
}) {
  switch (previewKind(object)) {
    case 'image':
      return <Image src={object.url} alt={`What is in ${object.key}`} mah="50vh" fit="contain" w="auto" />;
    case 'text':
      return <TextPreview url={object.url} sum={object.sha256} />;
    case null:
      return (
        <Text size="sm" c="dimmed">
          Files of this kind, or of this size, are looked at after they were downloaded.
        </Text>
      );
  }
}

function TextPreview({ url, sum }: { url: string; sum: string }) {
  const answer = useQuery({
    queryKey: ['text of an object', sum],
    queryFn: async ({ signal }) => {
      const response = await fetch(url, { signal });
      if (!response.ok) throw new TypeError('The file could not be read.');
      return response.text();
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <AnswerView answer={answer} lines={4}>
      {(text) => (
        <Code
          block
          mah="50vh"
          tabIndex={0}
          role="region"
          aria-label="Text of the file"
          style={{ overflow: 'auto', whiteSpace: 'pre-wrap' }}
        >
          {text}
        </Code>
      )}
    </AnswerView>
  );
}
