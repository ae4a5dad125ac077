import { TagsInput } from '@mantine/core';
import { actionPattern, actionsPerPresetMax } from '@svc/contract/presets.ts';

const common = ['read', 'write', 'delete', 'admin'];

/** What may be done through a connector: words of the connector's own, these being the usual ones. */
export function ActionsField({
  value,
  onChange,
  error,
  description,
}: {
  value: string[];
  onChange: (actions: string[]) => void;
  error?: string | undefined;
  description: string;
}) {
  const bad = value.filter((action) => !actionPattern.test(action));
  return (
    <TagsInput
      label="Actions"
      description={description}
      placeholder={value.length === 0 ? 'read' : undefined}
      data={common}
      value={value}
      onChange={onChange}
      splitChars={[',', ' ']}
      maxTags={actionsPerPresetMax}
      error={bad.length > 0 ? `${bad.join(', ')}: must be lower-case letters, digits and _.:-` : error}
      required
    />
  );
}
