import { Code, Fieldset, Group, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { maskKinds, policyMasksMax } from '@svc/contract/access-policies.ts';
import { IconPlus } from '@tabler/icons-react';
import { MayButton } from '../../../parts/may-button.tsx';
import { type Mask, type MaskKind, maskTexts, otherArgs, withKind } from './mask-args.ts';
import { RemovableRow } from './removable-row.tsx';

export function MasksField({
  masks,
  onChange,
  error,
}: {
  masks: Mask[];
  onChange: (masks: Mask[]) => void;
  error?: string | undefined;
}) {
  return (
    <Fieldset legend="Column masks">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Columns that are seen, but not as they are.
        </Text>
        {masks.map((mask, at) => (
          <MaskRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a mask is its place in the list until it is saved.
            key={at}
            mask={mask}
            place={`mask ${at + 1}`}
            onChange={(next) => onChange(masks.with(at, next))}
            onRemove={() => onChange(masks.toSpliced(at, 1))}
          />
        ))}
        {error && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        )}
        <Group>
          <MayButton
            size="compact-sm"
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            why={masks.length < policyMasksMax ? null : `A policy has at most ${policyMasksMax} masks.`}
            onClick={() => onChange([...masks, { column: '', kind: 'redact', args: {} }])}
          >
            Add mask
          </MayButton>
        </Group>
      </Stack>
    </Fieldset>
  );
}

function MaskRow({
  mask,
  place,
  onChange,
  onRemove,
}: {
  mask: Mask;
  place: string;
  onChange: (mask: Mask) => void;
  onRemove: () => void;
}) {
  const others = otherArgs(mask);
  const setArg = (name: string, value: string | number) =>
    onChange({ ...mask, args: { ...mask.args, [name]: value } });
  return (
    <RemovableRow place={place} onRemove={onRemove}>
      <TextInput
        aria-label={`Column of ${place}`}
        placeholder="column"
        value={mask.column}
        onChange={(event) => onChange({ ...mask, column: event.currentTarget.value })}
        classNames={{ input: 'mono' }}
        flex="1 1 140px"
        maxLength={128}
      />
      <Select
        aria-label={`Kind of ${place}`}
        data={maskKinds.map((value) => ({ value, label: maskTexts[value] }))}
        value={mask.kind}
        onChange={(kind) => kind && onChange(withKind(mask, kind as MaskKind))}
        allowDeselect={false}
        flex="2 1 220px"
      />
      {mask.kind === 'partial' && (
        <NumberInput
          aria-label={`Characters that ${place} keeps`}
          value={typeof mask.args.keep === 'number' ? mask.args.keep : 0}
          onChange={(value) => setArg('keep', typeof value === 'number' ? value : 0)}
          min={0}
          max={1000}
          allowDecimal={false}
          suffix=" kept"
          flex="1 1 110px"
        />
      )}
      {mask.kind === 'constant' && (
        <TextInput
          aria-label={`Text of ${place}`}
          value={String(mask.args.value ?? '')}
          onChange={(event) => setArg('value', event.currentTarget.value)}
          flex="1 1 110px"
          maxLength={1000}
        />
      )}
      {Object.keys(others).length > 0 && <Code>{JSON.stringify(others)}</Code>}
    </RemovableRow>
  );
}
