import { Textarea, type TextareaProps } from '@mantine/core';
import { Hint } from '../../../components/text.tsx';
import { parseScope, scopeCount } from './scope.ts';

export function ScopeField({ value, error, ...rest }: TextareaProps & { value: string }) {
  const scope = parseScope(value);
  return (
    <div>
      <Textarea
        {...rest}
        label="Scope"
        description="The part of the connector that the grant covers: schema or schema/table, one per line."
        placeholder={'sales\nhr/people'}
        value={value}
        error={scope.fault ?? error}
        minRows={3}
        maxRows={14}
        classNames={{ input: 'mono' }}
        spellCheck={false}
      />
      <Hint mt={4} role="status" aria-live="polite">
        {scopeCount(scope)}
      </Hint>
    </div>
  );
}
