import { Text, Textarea } from '@mantine/core';
import { readScope, scopeCount } from './scope-text.ts';

export function ScopeField({
  text,
  onChange,
  error,
}: {
  text: string;
  onChange: (text: string) => void;
  error?: string | undefined;
}) {
  const scope = readScope(text);
  return (
    <div>
      <Textarea
        label="Scope"
        description="What of the connector it reaches: schema or schema/table, one a line."
        placeholder={'sales\nhr/people'}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={scope.fault ?? error}
        autosize
        minRows={3}
        maxRows={14}
        classNames={{ input: 'mono' }}
        spellCheck={false}
      />
      <Text size="sm" c="dimmed" mt={4} role="status" aria-live="polite">
        {scopeCount(scope)}
      </Text>
    </div>
  );
}
